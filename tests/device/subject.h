// A network under test: a synthetic checkpoint by its config's name, on one way of computing.
// `tiny` is made on the spot; the others are read from $ABBA_DEVICE_CHECKPOINTS/<config> (made by
// `abba-laya checkpoint make --config <config> --seed 1`) and run on a GPU alone: the host would
// take minutes. What is missing skips, and fails under ABBA_REQUIRE_CUDA=1.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/checkpoint/verify.h"
#include "engine/model/network.h"
#include "engine/ops/reference/reference_network.h"
#include "tests/device/device.h"
#include "tests/unit/model/cpu_network.h"

namespace abba::device {

using model::testing::Outcome;

struct Subject {
  std::string config;
  Way way;
};
// tiny on every way, the others on CUDA.
std::vector<Subject> subjects();
std::vector<Subject> bf16_subjects();
std::string subject_name(const testing::TestParamInfo<Subject>& info);

// "fixtures" or "known_discrepancies.json", in the source tree or in $ABBA_DEVICE_DATA.
std::string data_path(const std::string& name);

// Why a subject cannot be tested here; empty if it can.
std::string why_not(const Subject& subject);
const checkpoint::ModelConfig& config_of(const std::string& name);
const checkpoint::SafetensorsFile& file_of(const std::string& name);

struct NamedBatch {
  std::string name;
  model::Batch batch;
};
// The thirteen fixtures in their order, as `config` takes them.
std::vector<NamedBatch> fixtures(const std::string& config);
// What references are computed for: fixtures of at most 1024 padded tokens, on the host's way 256.
// ABBA_DEVICE_THOROUGH=1: all of them.
std::vector<NamedBatch> checked_fixtures(const Subject& subject);

// A backend and the network on it.
struct Instance {
  std::unique_ptr<ops::Backend> backend;
  std::unique_ptr<model::Network> network;
};
Instance make_instance(const Subject& subject, const ops::Choices& choices = {});

// The double reference for `tiny`, else the host's fp32 record. Kept for the program's life.
const ops::reference::NetworkRecord& reference_of(const std::string& config,
                                                  const NamedBatch& input, bool round_weights);

// Every bit, the sign of a zero included; a NaN equals itself.
bool same_bits(const Outcome& a, const Outcome& b);

class NetworkTest : public testing::TestWithParam<Subject> {
 protected:
  void SetUp() override;
  [[nodiscard]] bool is_bf16() const { return GetParam().way.precision == Precision::kBf16; }
  [[nodiscard]] const checkpoint::ModelConfig& config() const {
    return config_of(GetParam().config);
  }
  // Runs both and, where their bits differ, fails with the first divergence.
  static void expect_same_bits(Instance& first, Instance& second, const NamedBatch& input);
};

}  // namespace abba::device
