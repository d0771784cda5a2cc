#include "harness/cli/progress_line.h"

#include <cmath>
#include <cstdio>

#include "engine/base/utf8.h"
#include "harness/cli/context.h"

namespace abba::cli {
namespace {

std::string clock_text(double seconds) {
  const auto whole = static_cast<long>(std::lround(seconds));
  char text[32];
  if (whole >= 3600) {
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
  } else {
    std::snprintf(text, sizeof text, "%ld:%02ld", whole / 60, whole % 60);
  }
  return text;
}

}  // namespace

std::string progress_text(const run::Progress& progress) {
  std::string text = progress.phase;
  if (progress.pass > 0) {
    text += " " + std::to_string(progress.pass) + "/" + std::to_string(progress.passes);
  }
  if (progress.block > 0) {
    text += " · block " + std::to_string(progress.block) + "/" + std::to_string(progress.blocks);
  }
  if (!progress.workload.empty()) {
    text += " · " + progress.workload;
  }
  text += " · " + clock_text(progress.elapsed_s);
  if (progress.rest_s >= 0) {
    text += " · about " + clock_text(progress.rest_s) + " left";
  }
  return text;
}

void ProgressLine::progress(const run::Progress& progress) {
  if (!terminal_) {
    return;
  }
  if (progress.phase == "finished") {
    clear();
    return;
  }
  shown_ = base::clean_utf8(progress_text(progress));
  std::fprintf(stderr, "\r\033[K%s", shown_.c_str());
  std::fflush(stderr);
}

void ProgressLine::note(const record::Note& note) {
  if (quiet_ || note.severity == record::Severity::kInfo) {
    return;
  }
  const std::string text = note.code + (note.where.empty() ? "" : " " + note.where);
  if (!said_.insert(text).second) {
    return;
  }
  clear();
  complain("note " + text + ": " + note.text);
}

void ProgressLine::clear() {
  if (terminal_ && !shown_.empty()) {
    std::fprintf(stderr, "\r\033[K");
    std::fflush(stderr);
    shown_.clear();
  }
}

}  // namespace abba::cli
