// The manifests that are published parse without a mistake, and the JSON Schema beside them says
// exactly what parsing accepts: the same keys, required keys and words, object by object.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "engine/base/text.h"
#include "harness/manifest/command.h"
#include "harness/manifest/keys.h"
#include "harness/record/names.h"
#include "tests/unit/machine.h"
#include "tests/unit/manifest/example.h"

namespace abba::manifest::testing {
namespace {

namespace fs = std::filesystem;

const fs::path kManifests = fs::path(ABBA_SOURCE_DIR) / "manifests";

std::vector<fs::path> published() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(kManifests)) {
    const std::string name = entry.path().filename().string();
    const bool lock = name.find(".lock.json") != std::string::npos;
    if (entry.path().extension() == ".json" && !lock) files.push_back(entry.path());
  }
  return files;
}

base::Json schema() {
  return base::parse_json_file((kManifests / "schema/abba.manifest.schema.json").string());
}

const base::Json& definition(const base::Json& root, std::string_view section) {
  return section == "manifest" ? root : root.at("$defs").at(section, section);
}

std::vector<std::string> member_names(const base::Json& object) {
  std::vector<std::string> names;
  for (const auto& [key, value] : object.as_object()) names.push_back(key);
  return names;
}

TEST(Published, EveryManifestParses) {
  const auto files = published();
  EXPECT_GE(files.size(), 5U);
  for (const fs::path& file : files) {
    const ParseResult result = parse_file(file.string());
    EXPECT_TRUE(result.ok()) << file << ":\n" << text(result.mistakes);
    if (!result.ok()) continue;
    EXPECT_EQ(result.manifest->id, file.stem().string());
  }
}

TEST(Published, FilesThatCannotBeMadeAreThere) {
  for (const fs::path& file : published()) {
    for (const record::FileDecl& needed : parsed(base::read_file(file.string())).files) {
      if (needed.make.empty()) {
        EXPECT_TRUE(fs::exists(kManifests.parent_path() / needed.path)) << needed.path;
      }
    }
  }
}

TEST(Schema, HasTheKeysThatParsingKnows) {
  const base::Json root = schema();
  for (const SectionKeys& section : all_sections()) {
    const base::Json& object = definition(root, section.name);
    EXPECT_THAT(member_names(object.at("properties")),
                ::testing::UnorderedElementsAreArray(section.keys))
        << section.name;
    EXPECT_FALSE(object.get_bool("additionalProperties", section.name)) << section.name;
    std::vector<std::string> required;
    if (const base::Json* listed = object.find("required")) {
      for (const base::Json& key : listed->as_array()) required.push_back(key.as_string());
    }
    EXPECT_THAT(required, ::testing::UnorderedElementsAreArray(section.required)) << section.name;
  }
  EXPECT_EQ(root.at("$defs").as_object().size() + 1, all_sections().size());
}

template <typename Enum>
void expect_words(const base::Json& root, const char* section, const char* key) {
  std::vector<std::string> words;
  for (int i = 0; !record::name(static_cast<Enum>(i)).empty(); ++i) {
    words.emplace_back(record::name(static_cast<Enum>(i)));
  }
  std::vector<std::string> listed;
  for (const base::Json& word :
       definition(root, section).at("properties").at(key).get_array("enum", key)) {
    listed.push_back(word.as_string());
  }
  EXPECT_THAT(listed, ::testing::UnorderedElementsAreArray(words)) << section << "." << key;
}

TEST(Schema, HasTheWordsThatParsingKnows) {
  const base::Json root = schema();
  expect_words<record::Preset>(root, "protocol", "preset");
  expect_words<record::WorkerReuse>(root, "protocol", "workers");
  expect_words<record::Order>(root, "protocol", "order");
  expect_words<record::WorkloadOrder>(root, "protocol", "workload_order");
  expect_words<record::Arrival>(root, "protocol", "arrival");
  expect_words<record::Placement>(root, "protocol", "placement");
  expect_words<record::Load>(root, "protocol", "load");
  expect_words<record::OnTaint>(root, "protocol", "on_taint");
  expect_words<record::OutputsRule>(root, "outputs", "rule");
  expect_words<record::Claim>(root, "success", "claim");
}

// The first python3 that has jsonschema (Debian's package serves /usr/bin/python3), or empty.
std::string python_with_jsonschema() {
  for (const char* python : {"python3", "/usr/bin/python3"}) {
    if (run_command({python, "-c", "import jsonschema"}, "/").exit_code == 0) return python;
  }
  return "";
}

// An independent validator agrees where there is one; comments are taken out by re-printing.
TEST(Schema, AnIndependentValidatorAgrees) {
  const std::string python = python_with_jsonschema();
  if (python.empty()) {
    ASSERT_FALSE(machine::is_required("ABBA_REQUIRE_JSONSCHEMA"))
        << "no python3 with jsonschema here; ./dev setup installs python3-jsonschema";
    GTEST_SKIP() << "no python3 with jsonschema here";
  }
  const std::string program =
      "import json, sys, jsonschema\n"
      "schema, good, bad = json.load(sys.stdin)\n"
      "check = jsonschema.Draft202012Validator(schema)\n"
      "check.check_schema(schema)\n"
      "wrong = [next(iter(check.iter_errors(m))).message for m in good if not check.is_valid(m)]\n"
      "missed = [m for m in bad if check.is_valid(m)]\n"
      "sys.exit(str(wrong + missed) if wrong or missed else 0)\n";
  base::JsonLimits limits;
  limits.allow_comments = true;
  base::Json good = base::Json::array();
  base::Json bad = base::Json::array();
  for (const fs::path& file : published()) {
    good.push_back(base::parse_json_file(file.string(), limits));
    good.push_back(parsed(base::read_file(file.string())).expanded);
  }
  good.push_back(base::parse_json(kNineLines, ""));
  bad.push_back(base::parse_json(with(kNineLines, "\"id\"", "\"idd\""), ""));
  bad.push_back(base::parse_json(with(kNineLines, "\"standard\"", "\"standart\""), ""));
  bad.push_back(base::parse_json(with(kNineLines, R"({"n": 100})", "{}"), ""));
  base::Json all = base::Json::array();
  all.push_back(schema());
  all.push_back(good);
  all.push_back(bad);
  const CommandResult judged = run_command({python, "-c", program}, "/", all.dump());
  EXPECT_EQ(judged.exit_code, 0) << judged.err;
}

}  // namespace
}  // namespace abba::manifest::testing
