#include "harness/manifest/diff.h"

#include <algorithm>
#include <set>

#include "engine/base/text.h"
#include "engine/base/utf8.h"
#include "harness/manifest/parts.h"

namespace abba::manifest {
namespace {

std::string words(const std::vector<std::string>& argv, const std::string& otherwise) {
  return argv.empty() ? otherwise : base::join(argv, " ");
}

// What starts an arm: its own program, its own worker, a build of its revision, or the common one.
std::string command_of(const record::Manifest& manifest, const record::Arm& arm) {
  if (!arm.program.empty()) return base::join(arm.program, " ");
  if (!arm.worker.empty()) return base::join(arm.worker, " ");
  if (!arm.rev.empty()) return manifest.build.executable + " built from " + arm.rev;
  return words(manifest.worker, "the default worker");
}

std::string level_or_default(const record::Arm& arm, const std::string& factor,
                             const record::WorkerHello* hello) {
  const auto stated = arm.factors.find(factor);
  if (stated != arm.factors.end()) return stated->second;
  if (hello == nullptr) return "not stated";
  for (const record::FactorDecl& declared : hello->factors) {
    if (declared.name == factor) return declared.default_level;
  }
  return "no such factor";
}

void add_factors(std::vector<DiffRow>& rows, const record::Manifest& manifest,
                 const record::WorkerHello* hello_a, const record::WorkerHello* hello_b) {
  std::set<std::string> stated;
  std::set<std::string> declared;
  for (const record::Arm* arm : {&manifest.a, &manifest.b}) {
    for (const auto& [factor, level] : arm->factors) stated.insert(factor);
  }
  for (const record::WorkerHello* hello : {hello_a, hello_b}) {
    if (hello == nullptr) continue;
    for (const record::FactorDecl& factor : hello->factors) declared.insert(factor.name);
  }
  std::set<std::string> all = stated;
  all.insert(declared.begin(), declared.end());
  for (const std::string& factor : all) {
    rows.push_back({"factor " + factor, level_or_default(manifest.a, factor, hello_a),
                    level_or_default(manifest.b, factor, hello_b),
                    stated.count(factor) > 0 ? "manifest" : "worker default"});
  }
}

void add_common(std::vector<DiffRow>& rows, const record::Manifest& manifest) {
  const auto add = [&rows](const std::string& name, const std::string& value) {
    rows.push_back({name, value, value, "manifest"});
  };
  for (std::size_t i = 0; i < manifest.build.commands.size(); ++i) {
    add("build command " + std::to_string(i + 1), base::join(manifest.build.commands[i], " "));
  }
  for (const auto& [key, value] : manifest.settings.as_object()) {
    add("setting " + key, value.is_string() ? value.as_string() : value.canonical());
  }
  for (const record::FileDecl& file : manifest.files) {
    add("file " + file.name,
        file.path + (file.sha256.empty() ? "" : " sha256 " + record::short_digest(file.sha256)));
  }
  add("device", manifest.device.wanted);
}

void add_hello(std::vector<DiffRow>& rows, const record::WorkerHello& a,
               const record::WorkerHello& b) {
  rows.push_back({"worker version", a.name + " " + a.version, b.name + " " + b.version, "worker"});
  rows.push_back({"worker source", a.source_stamp, b.source_stamp, "worker"});
  std::set<std::string> facts;
  for (const record::WorkerHello* hello : {&a, &b}) {
    if (!hello->facts.is_object()) continue;
    for (const auto& [key, value] : hello->facts.as_object()) facts.insert(key);
  }
  const auto fact = [](const record::WorkerHello& hello, const std::string& key) {
    const base::Json* value = hello.facts.find(key);
    if (value == nullptr) return std::string("not given");
    return value->is_string() ? value->as_string() : value->canonical();
  };
  for (const std::string& key : facts) {
    rows.push_back({"worker " + key, fact(a, key), fact(b, key), "worker"});
  }
}

std::string padded(const std::string& text, std::size_t width) {
  return text.size() >= width ? text : text + std::string(width - text.size(), ' ');
}

}  // namespace

std::vector<DiffRow> diff(const record::Manifest& manifest, const record::WorkerHello* hello_a,
                          const record::WorkerHello* hello_b) {
  std::vector<DiffRow> rows;
  rows.push_back({"label", manifest.a.label, manifest.b.label, "manifest"});
  rows.push_back({"command", command_of(manifest, manifest.a), command_of(manifest, manifest.b),
                  manifest.worker.empty() ? "default" : "manifest"});
  if (!manifest.a.rev.empty() || !manifest.b.rev.empty()) {
    rows.push_back({"revision", manifest.a.rev, manifest.b.rev, "manifest"});
  }
  if (!manifest.a.program.empty() || !manifest.b.program.empty()) {
    rows.push_back({"samples read from", std::string(record::name(manifest.a.reads)),
                    std::string(record::name(manifest.b.reads)), "manifest"});
  }
  if (!manifest.a.inject.is_null() || !manifest.b.inject.is_null()) {
    rows.push_back(
        {"injected effect", manifest.a.inject.dump(), manifest.b.inject.dump(), "manifest"});
  }
  add_factors(rows, manifest, hello_a, hello_b);
  if (hello_a != nullptr && hello_b != nullptr) add_hello(rows, *hello_a, *hello_b);
  add_common(rows, manifest);
  return rows;
}

std::string table(const std::vector<DiffRow>& rows) {
  std::vector<DiffRow> sorted = rows;
  for (DiffRow& row : sorted) {  // a row is one line, whatever a manifest or a worker says
    for (std::string* field : {&row.name, &row.a, &row.b}) *field = base::clean_utf8(*field);
  }
  std::stable_partition(sorted.begin(), sorted.end(),
                        [](const DiffRow& row) { return row.differs(); });
  std::size_t name_width = 4;
  std::size_t a_width = 1;
  std::size_t b_width = 1;
  for (const DiffRow& row : sorted) {
    name_width = std::max(name_width, row.name.size());
    a_width = std::max(a_width, row.a.size());
    b_width = std::max(b_width, row.b.size());
  }
  std::string result = "  " + padded("what", name_width) + "  " + padded("A", a_width) + "  " +
                       padded("B", b_width) + "  from\n";
  for (const DiffRow& row : sorted) {
    result += std::string(row.differs() ? "* " : "  ") + padded(row.name, name_width) + "  " +
              padded(row.a, a_width) + "  " + padded(row.b, b_width) + "  " + row.from + "\n";
  }
  return result;
}

}  // namespace abba::manifest
