// The commands of abba-laya, each a plain function of plain options; they print to stdout and throw
// base::Error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace abba::laya {

struct MakeCheckpoint {
  std::string config;  // a family's name
  std::uint64_t seed = 1;
  std::string out;
  std::string tokenizer = "builtin";  // or "none" or a folder
  int threads = 2;
};

void make_checkpoint(const MakeCheckpoint& options);
void inspect_checkpoint_command(const std::string& dir);
// Prints every mistake; returns whether the checkpoint is sound.
bool verify_checkpoint_command(const std::string& dir);

// Runs one drawn batch through the engine and through the double-precision reference, and prints
// how far they are apart in what the heads read and in both heads' logits. Returns whether the fp32
// limit holds.
struct CompareReference {
  std::string checkpoint;
  std::int64_t rows = 1;
  std::int64_t tokens = 48;
  std::uint64_t seed = 1;
  std::string backend = "cpu";
  int threads = 1;      // of the CPU backend
  bool checks = false;  // the output checks in bf16 too, whose limits then count as well
};
bool compare_reference(const CompareReference& options);

// A network on a GPU with its plans made.
struct PlannedNetwork {
  std::string checkpoint;
  std::vector<std::string> shapes;  // "1x48"
  int device = 0;
};
// Times forward passes; nothing to publish.
struct TimeForward {
  PlannedNetwork network;
  std::string backend = "cpu";
  std::string precision = "bf16";
  std::vector<std::string> factors;  // "rope=r1_h8"
  int threads = 1;                   // of the CPU backend
  int count = 100;
  bool by_operation = false;  // also each operation by itself
};
void time_forward(const TimeForward& options);

// "32x512" or, with the slots of markers a row has, "32x512x4".
struct ShapeText {
  std::int64_t rows = 0;
  std::int64_t tokens = 0;
  std::int64_t options = 4;
};
ShapeText read_shape(const std::string& text);

// Times the matrix products of the shapes and prints lines for the committed table.
void gemm_pin(const PlannedNetwork& options);
// What each backend would run on, or why it cannot; with a checkpoint also the device memory it
// takes with the shapes planned.
struct Doctor {
  PlannedNetwork network;  // its checkpoint may be empty
  bool json = false;       // one object for programs: backends_json(), and "memory" of the network
};
void doctor(const Doctor& options);

// Where the time of a request goes, op by op: prints a table and writes OUT.json and OUT.md.
struct ProfileOptions {
  std::string checkpoint;
  std::string fixtures = "experiments/fixtures";
  std::string input;  // of a workload, as JSON
  std::string backend = "cpu";
  std::vector<std::string> levels;  // FACTOR=LEVEL; a factor that the backend lacks is left out
  std::vector<std::string> beside;  // levels laid over them for operations shown with a count of 0
  std::string out;
};
void profile(const ProfileOptions& options);

}  // namespace abba::laya
