#include <cstdio>
#include <string>

#include "engine/base/error.h"
#include "engine/checkpoint/verify.h"
#include "engine/model/network.h"
#include "experiments/laya/commands.h"
#include "experiments/laya/engine_backend.h"
#include "experiments/laya/terminal.h"

namespace abba::laya {
ShapeText read_shape(const std::string& text) {
  long long rows = 0;
  long long tokens = 0;
  long long options = 4;
  char rest = 0;
  const int read = std::sscanf(text.c_str(), "%lldx%lldx%lld%c", &rows, &tokens, &options, &rest);
  const bool plain = std::sscanf(text.c_str(), "%lldx%lld%c", &rows, &tokens, &rest) == 2;
  if (read != 3 && !plain) {
    throw base::Error(base::ErrorCode::kBadInput, "--shape",
                      "is \"" + text + "\", accepted is ROWSxTOKENS or ROWSxTOKENSxOPTIONS");
  }
  return {rows, tokens, options};
}

namespace {

// Calls use(backend) with the network of `checkpoint` planned for the shapes on a GPU.
template <typename Use>
void with_network(const PlannedNetwork& options, const Use& use) {
  const checkpoint::Checkpoint checkpoint(options.checkpoint);
  EngineSettings settings;
  settings.backend = "cuda";
  settings.device = options.device;
  const auto backend = make_backend(settings);
  model::Network network(checkpoint.config, checkpoint.file, *backend);
  for (const std::string& text : options.shapes) {
    const ShapeText shape = read_shape(text);
    network.prepare({shape.rows, shape.tokens, shape.options});
  }
  use(*backend);
}

}  // namespace

void gemm_pin(const PlannedNetwork& options) {
  with_network(options, [](const ops::Backend& backend) { print_pinned_rows(backend); });
}

void doctor(const Doctor& options) {
  base::Json found = backends_json();
  if (!options.json) std::fputs(backends_text(found).c_str(), stdout);
  if (!options.network.checkpoint.empty()) {
    with_network(options.network, [&](const ops::Backend& backend) {
      if (!options.json) std::fputs(memory_text(backend).c_str(), stdout);
      found.set("memory", report_json(backend));
    });
  }
  if (options.json) print_out(found.dump_pretty());
}

}  // namespace abba::laya
