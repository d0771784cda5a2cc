#include <string>

#include "harness/report/sections/sections.h"

namespace abba::report {

void reproduce_section(const Source& source, Document& document) {
  document.heading("Reproduce");
  if (source.context.commands.empty()) {
    document.paragraph("The commands were not handed to this report.");
  } else {
    document.add(Commands{source.context.commands});
  }
  Bullets bullets;
  bullets.items.push_back(
      {plain("Run "), code(source.run.run_id), plain(", file "), code(source.run.file)});
  if (!source.run.head_digest.empty()) {
    bullets.items.push_back({plain("Head of its chain "), code(source.run.head_digest)});
  }
  if (!source.context.run_file_digest.empty()) {
    bullets.items.push_back({plain("SHA-256 of the file "), code(source.context.run_file_digest)});
  }
  document.add(std::move(bullets));
}

}  // namespace abba::report
