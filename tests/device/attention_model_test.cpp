// The model's own forward and attention's wrapper: q, k, v and lengths lie as the launchers read
// them, under every level, so that not one kernel that copies them is even loaded.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/cuda/backend.h"
#include "engine/cuda/kernels/attention.h"
#include "engine/cuda/kernels/attention_wrapper.h"
#include "engine/model/reference_forward.h"
#include "tests/device/subject.h"

namespace abba::device {
namespace {

class AttentionModel : public NetworkTest {};

bool is_loaded(const cuda::Report& report, const cuda::KernelRow& kernel) {
  const auto& names = report.loaded_kernels;
  return std::find(names.begin(), names.end(), kernel.name) != names.end();
}

TEST_P(AttentionModel, its_own_forward_copies_no_input_of_attention) {
  for (const char* output : {"head_major", "row_major"}) {
    for (const char* head : {"all_tokens", "marker_rows"}) {
      ops::Choices choices;
      ops::set_choice(choices, "attention_output", output);
      ops::set_choice(choices, "head_last_layer", head);
      Instance instance = make_instance(GetParam(), choices);
      model::testing::run(*instance.network, model::random_batch(config(), {3, 160, 5}, 21));
      const cuda::Report report = cuda::report_of(*instance.backend);
      for (const cuda::KernelRow& kernel : cuda::attention_wrapper_kernels()) {
        EXPECT_FALSE(is_loaded(report, kernel)) << output << ", " << head << ": " << kernel.name;
      }
      // The list is one in which a kernel that did run can be found.
      const bool has_run =
          std::any_of(cuda::attention_kernels().begin(), cuda::attention_kernels().end(),
                      [&](const cuda::KernelRow& kernel) { return is_loaded(report, kernel); });
      EXPECT_TRUE(has_run) << output << ", " << head;
    }
  }
}

std::vector<Subject> tiny_on_cuda() {
  std::vector<Subject> all;
  for (const Way& way : cuda_ways()) all.push_back({"tiny", way});
  return all;
}
INSTANTIATE_TEST_SUITE_P(device, AttentionModel, testing::ValuesIn(tiny_on_cuda()), subject_name);

}  // namespace
}  // namespace abba::device
