#include "harness/manifest/parse.h"

#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/base/utf8.h"
#include "harness/manifest/canonical.h"
#include "harness/manifest/parts.h"

namespace abba::manifest {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 20U;
constexpr int kMaxDepth = 32;

void read_words(const Section& top, record::Manifest& manifest) {
  top.choice_word("schema", {kSchemaName});
  top.text("id", TextRule::kId, manifest.id);
  top.text("title", TextRule::kLine, manifest.title);
  top.text("hypothesis", TextRule::kProse, manifest.hypothesis);
  top.text("rationale", TextRule::kProse, manifest.rationale);
  top.text("prior_data", TextRule::kProse, manifest.prior_data);
  top.text("reference_environment", TextRule::kLine, manifest.reference_environment);
  top.text("independent_variable", TextRule::kLine, manifest.independent_variable);
  top.flag("combined", manifest.combined);
  top.command("worker", manifest.worker);
  top.free_object("settings", manifest.settings);
  top.texts("sources", TextRule::kLine, manifest.sources);
  const std::string* bind = top.choice_word("bind", {"first-preflight", "registered"});
  manifest.bind_registered = bind != nullptr && *bind == "registered";
  const Section evidence(top.find("evidence"), top.at("evidence"), "evidence", top.mistakes());
  evidence.text("run", TextRule::kLine, manifest.evidence.run);
  evidence.text("row", TextRule::kLine, manifest.evidence.row);
  evidence.number("share", 0, 1, manifest.evidence.share);
}

// What lies outside the project belongs to nobody's registration.
void check_sources(const Section& top, const record::Manifest& manifest) {
  for (std::size_t i = 0; i < manifest.sources.size(); ++i) {
    const std::filesystem::path path(manifest.sources[i]);
    const std::string normal = path.lexically_normal().generic_string();
    if (path.is_absolute() || normal == ".." || normal.rfind("../", 0) == 0) {
      top.mistakes().push_back({below(top.at("sources"), i), "bad-value",
                                "\"" + manifest.sources[i] + "\"",
                                "a file or folder of the project, relative to abba.json"});
    }
  }
}

Mistakes read_all(const base::Json& root, record::Manifest& manifest) {
  Mistakes mistakes;
  const Section top(&root, "", "manifest", mistakes);
  if (!top.is_object()) return mistakes;
  read_words(top, manifest);
  check_sources(top, manifest);
  read_arms(top, manifest);
  read_files(top, manifest);
  read_build(top, manifest);
  read_device(top, manifest);
  read_affinity(top, manifest);
  read_workloads(top, manifest);
  read_protocol(top, manifest);
  read_outputs(top, manifest);
  read_success(top, manifest);
  read_later_passes(top, manifest);
  read_hashes(top, manifest);
  const base::Json* arms = root.find("arms");
  if (arms != nullptr && arms->find("A") != nullptr && arms->find("B") != nullptr) {
    check_arms(manifest, mistakes);  // else every difference would be one with nothing
  }
  check_names(manifest, mistakes);
  check_size(manifest, mistakes);
  return mistakes;
}

}  // namespace

std::string text(const Mistake& mistake) {
  const std::string where = mistake.pointer.empty() ? std::string("the manifest") : mistake.pointer;
  return where + ": found " + mistake.found + "; accepted: " + mistake.accepted;
}

std::string text(const std::vector<Mistake>& mistakes) {
  std::vector<std::string> lines;
  lines.reserve(mistakes.size());
  for (const Mistake& mistake : mistakes) lines.push_back(base::clean_utf8(text(mistake)));
  return base::join(lines, "\n");
}

MistakesError::MistakesError(const std::string& path, const std::vector<Mistake>& mistakes)
    : base::Error(base::ErrorCode::kBadInput, base::clean_utf8(path),
                  std::to_string(mistakes.size()) +
                      (mistakes.size() == 1 ? " mistake:\n" : " mistakes:\n") + text(mistakes)) {}

ParseResult parse_text(std::string_view source, const std::string& path) {
  ParseResult result;
  base::Json root;
  try {
    base::JsonLimits limits;
    limits.max_bytes = kMaxBytes;
    limits.max_depth = kMaxDepth;
    limits.allow_comments = true;
    root = base::parse_json(source, path, limits);
  } catch (const base::Error& error) {
    result.mistakes.push_back(
        {"", "syntax", error.message(), "one JSON object of at most 1 MiB, // comments allowed"});
    return result;
  }
  record::Manifest manifest;
  manifest.path = path;
  result.mistakes = read_all(root, manifest);
  if (result.mistakes.empty()) {
    manifest.expanded = expand(manifest);
    result.notes = notes_on(manifest);
    result.manifest = std::move(manifest);
  }
  return result;
}

ParseResult parse_file(const std::string& path) {
  return parse_text(base::read_file(path, kMaxBytes + 1), path);
}

record::Manifest parse_file_or_throw(const std::string& path) {
  ParseResult result = parse_file(path);
  if (!result.ok()) {
    throw MistakesError(path, result.mistakes);
  }
  return std::move(*result.manifest);
}

}  // namespace abba::manifest
