// Why CUDA cannot be used: one sentence for each way a machine can lack it, judged without a GPU.
#include "engine/cuda/device.h"

#include <gtest/gtest.h>

namespace abba::cuda {
namespace {

DeviceFindings usable() {
  DeviceFindings found;
  found.driver_version = 13000;
  found.runtime_version = 13000;
  found.count = 2;
  found.compute_capability = 90;
  return found;
}

void expect_says(const DeviceFindings& found, const std::vector<std::string>& words) {
  const std::string sentence = why_unavailable(found);
  for (const std::string& word : words) {
    EXPECT_NE(sentence.find(word), std::string::npos) << "\"" << sentence << "\" lacks " << word;
  }
  EXPECT_EQ(sentence.find('\n'), std::string::npos);
}

TEST(Device, AUsableOneHasNothingToSay) {
  EXPECT_EQ(why_unavailable(usable()), "");
  DeviceFindings second = usable();
  second.index = 1;
  EXPECT_EQ(why_unavailable(second), "");
}

TEST(Device, EveryWayToLackOneHasASentenceThatSaysWhatToDo) {
  DeviceFindings found = usable();
  found.driver_version = 0;
  expect_says(found, {"no NVIDIA driver", "install one that speaks CUDA 13.0", "\"cpu\""});

  found = usable();
  found.driver_version = 12020;
  found.count_code = 35;
  expect_says(found, {"speaks CUDA 12.2", "needs 13.0", "newer driver"});

  found = usable();
  found.count_code = 100;
  expect_says(found, {"no GPU is visible", "nvidia-smi"});

  found = usable();
  found.compute_capability = 89;
  expect_says(found, {"sm_89", "sm_90a", "\"cpu\""});
  found.compute_capability = 100;
  expect_says(found, {"sm_100"});

  found = usable();
  found.start_code = 46;
  expect_says(found, {"busy in exclusive mode", "end the process"});

  found = usable();
  found.is_prohibited = true;
  expect_says(found, {"prohibited", "nvidia-smi -c DEFAULT"});

  found = usable();
  found.start_code = 2;
  expect_says(found, {"no memory left", "nvidia-smi"});

  found = usable();
  found.start_code = 999;
  expect_says(found, {"starting work on GPU 0 failed", "error 999"});
}

TEST(Device, HiddenDevicesAreBlamedOnWhatHidesThem) {
  for (const char* value : {"", "7", "GPU-00000000", "none"}) {
    DeviceFindings found = usable();
    found.visible_devices = value;
    found.count_code = 100;
    expect_says(found, {std::string("CUDA_VISIBLE_DEVICES is \"") + value + "\"", "unset it"});
    found.count_code = 0;
    found.count = 0;
    expect_says(found, {"no GPU is visible", "CUDA_VISIBLE_DEVICES"});
  }
  DeviceFindings found = usable();
  found.index = 2;
  expect_says(found, {"there is no GPU 2", "2 visible"});
  found.index = -1;
  EXPECT_NE(why_unavailable(found), "");
}

// The real question, on whatever machine this runs on: it never throws, and a machine that cannot
// be used says why.
TEST(Device, AskingThisMachineAlwaysAnswers) {
  const DeviceAnswer answer = find_device(0, std::nullopt);
  EXPECT_EQ(answer.info.runtime_version / 1000, 13);
  EXPECT_TRUE(!answer.unavailable.empty() || answer.info.compute_capability == kComputeCapability);
  EXPECT_NE(find_device(200, std::nullopt).unavailable, "");
}

}  // namespace
}  // namespace abba::cuda
