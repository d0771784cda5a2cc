#include <cstdio>
#include <string>

#include "engine/checkpoint/config.h"
#include "engine/checkpoint/synthetic.h"
#include "engine/checkpoint/verify.h"
#include "experiments/laya/commands.h"
#include "experiments/laya/terminal.h"

namespace abba::laya {

void make_checkpoint(const MakeCheckpoint& options) {
  // A folder is told from a family by its slash, so that no file lying about changes what a name
  // is.
  const bool is_folder = options.config.find('/') != std::string::npos;
  const checkpoint::ModelConfig config = is_folder ? checkpoint::read_config(options.config)
                                                   : checkpoint::family_config(options.config);
  checkpoint::make_synthetic(config, {.seed = options.seed,
                                      .out_dir = options.out,
                                      .tokenizer = options.tokenizer,
                                      .thread_count = options.threads});
  const checkpoint::Inspection made = checkpoint::inspect_checkpoint(options.out);
  std::printf("%s: %s, seed %llu, %llu parameters, sha256 %s\n", options.out.c_str(),
              made.family.c_str(), static_cast<unsigned long long>(options.seed),
              static_cast<unsigned long long>(made.parameter_count), made.sha256.c_str());
}

void inspect_checkpoint_command(const std::string& dir) {
  std::fputs(checkpoint::inspection_text(checkpoint::inspect_checkpoint(dir)).c_str(), stdout);
}

bool verify_checkpoint_command(const std::string& dir) {
  const std::vector<std::string> mistakes = checkpoint::verify_checkpoint(dir);
  for (const std::string& mistake : mistakes) {
    complain(mistake);
  }
  if (mistakes.empty()) {
    std::printf("%s: every tensor of its config is there, nothing else is\n", dir.c_str());
  }
  return mistakes.empty();
}

}  // namespace abba::laya
