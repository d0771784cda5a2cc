#include "harness/run/arm_command.h"

#include <gtest/gtest.h>

#include "engine/base/error.h"

namespace abba::run {
namespace {

manifest::Project project_with(std::vector<std::string> default_worker) {
  manifest::Project project;
  project.root = "/nowhere";
  project.default_worker = std::move(default_worker);
  return project;
}

TEST(ArmCommand, the_nearer_declaration_wins) {
  record::Manifest manifest;
  manifest.a.id = "A";
  manifest.b.id = "B";
  const CommandSources sources{"/bin/abba", {"/bin/abba-laya", "worker"}};
  const auto argv = [&](const manifest::Project& project) {
    return arm_command(manifest, "A", project, sources).argv;
  };
  EXPECT_EQ(argv(project_with({})), (std::vector<std::string>{"/bin/abba-laya", "worker"}));
  EXPECT_EQ(argv(project_with({"mine", "w"})), (std::vector<std::string>{"mine", "w"}));
  manifest.worker = {"common"};
  EXPECT_EQ(argv(project_with({"mine", "w"})), std::vector<std::string>{"common"});
  manifest.a.worker = {"own", "--flag"};
  EXPECT_EQ(argv(project_with({})), (std::vector<std::string>{"own", "--flag"}));
  EXPECT_EQ(arm_command(manifest, "B", project_with({}), sources).argv,
            std::vector<std::string>{"common"});
  manifest.a.program = {"bench"};
  manifest.a.reads = record::Reads::kLines;
  EXPECT_EQ(arm_command(manifest, "A", project_with({}), sources).reads, record::Reads::kLines);
}

TEST(ArmCommand, no_worker_at_all_is_bad_input) {
  record::Manifest manifest;
  manifest.a.id = "A";
  try {
    arm_command(manifest, "A", project_with({}), {"/bin/abba", {}});
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::ErrorCode::kBadInput);
  }
}

TEST(ArmCommand, a_reference_worker_is_the_common_one_unless_named) {
  record::Manifest manifest;
  manifest.worker = {"common"};
  manifest.outputs.reference.settings = base::Json::object();
  auto commands = arm_commands(manifest, project_with({}), {"/bin/abba", {}});
  EXPECT_EQ(commands.at("reference").argv, std::vector<std::string>{"common"});
  manifest.outputs.reference.worker = {"slow"};
  commands = arm_commands(manifest, project_with({}), {"/bin/abba", {}});
  EXPECT_EQ(commands.at("reference").argv, std::vector<std::string>{"slow"});
}

}  // namespace
}  // namespace abba::run
