#include "harness/run/arm_command.h"

#include <filesystem>

#include "engine/base/error.h"
#include "harness/workers/build.h"

namespace abba::run {
namespace {

std::vector<std::string> common_worker(const record::Manifest& manifest,
                                       const manifest::Project& project,
                                       const CommandSources& sources) {
  if (!manifest.worker.empty()) {
    return manifest.worker;
  }
  return project.default_worker.empty() ? sources.last_resort : project.default_worker;
}

// A manifest's relative words mean files of the project, wherever abba was called from.
std::vector<std::string> rooted(std::vector<std::string> argv, const manifest::Project& project,
                                const CommandSources& sources) {
  argv = manifest::fill_in(argv, project, sources.program, "");
  for (std::string& word : argv) {
    const std::filesystem::path path(word);
    std::error_code ignored;
    if (!word.empty() && word[0] != '-' && path.is_relative() &&
        word.find('/') != std::string::npos &&
        std::filesystem::is_regular_file(project.root / path, ignored)) {
      word = (project.root / path).string();
    }
  }
  return argv;
}

// A recipe that fails is found before anything is measured.
workers::BuiltRevision build(const record::Manifest& manifest, const record::Arm& arm,
                             const manifest::Project& project, const CommandSources& sources) {
  try {
    return workers::build_revision(project.root.string(), arm.rev, manifest.build,
                                   workers::toolchain_id(), sources.stop);
  } catch (const base::Error& error) {
    if (error.code() != base::ErrorCode::kBroken) {
      throw;
    }
    throw base::Error(base::ErrorCode::kPreflight, "arm " + arm.id,
                      "revision " + arm.rev + " cannot be built: " + error.what());
  }
}

ArmCommand built(const record::Manifest& manifest, const record::Arm& arm,
                 const std::vector<std::string>& common, const manifest::Project& project,
                 const CommandSources& sources) {
  const auto revision = build(manifest, arm, project, sources);
  ArmCommand command{common, record::Reads::kProtocol, revision.tree};
  if (command.argv.empty()) {
    command.argv.emplace_back();
  }
  command.argv[0] = revision.executable;
  return command;
}

}  // namespace

ArmCommand arm_command(const record::Manifest& manifest, const std::string& arm_id,
                       const manifest::Project& project, const CommandSources& sources) {
  const bool is_reference = arm_id == "reference";
  const record::Arm none;
  const record::Arm& arm = is_reference ? none : manifest.arm(arm_id);
  const auto common = common_worker(manifest, project, sources);
  ArmCommand command;
  if (is_reference && !manifest.outputs.reference.worker.empty()) {
    command.argv = manifest.outputs.reference.worker;
  } else if (!arm.program.empty()) {
    command = {arm.program, arm.reads, ""};
  } else if (!arm.worker.empty()) {
    command.argv = arm.worker;
  } else if (!arm.rev.empty()) {
    command = built(manifest, arm, common, project, sources);
  } else {
    command.argv = common;
  }
  if (command.argv.empty()) {
    throw base::Error(base::ErrorCode::kBadInput, manifest.path,
                      "no worker for arm " + arm_id +
                          ": no default worker lies beside abba, so name one as \"worker\" in "
                          "the manifest or as \"default_worker\" in abba.json");
  }
  command.argv = rooted(command.argv, project, sources);
  return command;
}

std::map<std::string, ArmCommand> arm_commands(const record::Manifest& manifest,
                                               const manifest::Project& project,
                                               const CommandSources& sources) {
  std::map<std::string, ArmCommand> commands;
  commands["A"] = arm_command(manifest, "A", project, sources);
  commands["B"] = arm_command(manifest, "B", project, sources);
  if (manifest.outputs.reference.present() && manifest.outputs.reference.file.empty()) {
    commands["reference"] = arm_command(manifest, "reference", project, sources);
  }
  return commands;
}

}  // namespace abba::run
