// Manifests of any bytes. Promises: mistakes with a sentence each, or a manifest whose expanded
// form is a manifest again and expands to itself.
#include "engine/base/error.h"
#include "harness/manifest/parse.h"
#include "tests/fuzz/json_words.h"
#include "tests/fuzz/mutator.h"

namespace {

std::string target(std::string_view input) {
  const auto parsed = abba::manifest::parse_text(input, "fuzz.json");
  if (!parsed.ok()) {
    if (parsed.mistakes.empty()) return "neither a manifest nor a mistake";
    return abba::manifest::text(parsed.mistakes).empty() ? "a mistake without words" : "";
  }
  const std::string expanded = parsed.manifest->expanded.dump_pretty();
  const auto again = abba::manifest::parse_text(expanded, "fuzz.json");
  if (!again.ok()) return "the expanded form is refused: " + abba::manifest::text(again.mistakes);
  return again.manifest->expanded.dump_pretty() == expanded ? "" : "expands otherwise again";
}

}  // namespace

int main(int argc, char** argv) {
  return abba::fuzz::run(argc, argv,
                         abba::fuzz::with_json({"\"id\"",
                                                "\"arms\"",
                                                "\"A\"",
                                                "\"B\"",
                                                "\"factors\"",
                                                "\"rev\"",
                                                "\"program\"",
                                                "\"reads\": \"wall\"",
                                                "\"worker\"",
                                                "\"workloads\"",
                                                "\"input\"",
                                                "\"protocol\"",
                                                "\"preset\": \"quick\"",
                                                "\"looks\": [6, 12]",
                                                "\"passes\": 6",
                                                "\"order\": \"AB/BA\"",
                                                "\"slot\"",
                                                "\"limits\"",
                                                "\"success\"",
                                                "\"harm_limit\": 0.02",
                                                "\"at_least\"",
                                                "\"claim\"",
                                                "\"outputs\": \"bitwise\"",
                                                "\"files\"",
                                                "\"hashes\"",
                                                "\"device\"",
                                                "\"affinity\"",
                                                "\"traces\"",
                                                "\"gate\"",
                                                "// x\n",
                                                "/* x */",
                                                "\"../../x\""}),
                         target);
}
