// One NaN in any tensor of the network reaches the decision: no corrupt weight gives an answer
// that looks like one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "engine/model/reference_forward.h"
#include "tests/unit/model/cpu_network.h"
#include "tests/unit/model/small_checkpoint.h"
#include "tests/unit/temporary_folder.h"

namespace abba::model {
namespace {

using testing::cpu_backend;
using testing::Outcome;
using testing::run;
using testing::small_config;

// The element that is spoiled: in the middle, or in a row of a table that the batch reads.
std::int64_t spoiled_element(const checkpoint::TensorInfo& info, const Batch& batch) {
  const std::int64_t columns = info.shape.column_count();
  if (info.name.find("tok_embeddings") != std::string::npos) return batch.ids[0] * columns + 1;
  if (info.name == "type_emb.weight") return batch.types[0] * columns + 1;
  return info.shape.element_count() / 2;
}

// A copy of the file with one fp32 element replaced by a NaN.
void spoil(const checkpoint::SafetensorsFile& file, const checkpoint::TensorInfo& info,
           std::int64_t element, const std::string& to) {
  std::uint64_t data_bytes = 0;
  for (const auto& tensor : file.tensors()) data_bytes += tensor.size_bytes;
  std::filesystem::copy_file(file.path(), to, std::filesystem::copy_options::overwrite_existing);
  std::fstream bytes(to, std::ios::in | std::ios::out | std::ios::binary);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  bytes.seekp(static_cast<std::streamoff>(file.file_bytes() - data_bytes + info.offset_bytes +
                                          static_cast<std::uint64_t>(element) * sizeof(nan)));
  bytes.write(reinterpret_cast<const char*>(&nan), sizeof(nan));
  ABBA_CHECK(bytes.good());
}

bool has_nan(const Outcome& outcome) {
  const auto is_nan = [](float value) { return std::isnan(value); };
  return std::any_of(outcome.logits.begin(), outcome.logits.end(), is_nan) ||
         std::any_of(outcome.actions.begin(), outcome.actions.end(), is_nan);
}

TEST(CorruptWeight, ANanInAnyTensorReachesTheDecision) {
  const auto config = small_config();
  const testing::SmallCheckpoint checkpoint(config);
  const TemporaryFolder folder;
  const std::string path = folder.file("spoiled.safetensors");
  const Batch batch = random_batch(config, {2, 11, 3}, 5);
  ASSERT_EQ(checkpoint.file().tensors().front().dtype, tensor::DType::kF32);
  for (const ops::Precision precision : {ops::Precision::kFp32, ops::Precision::kBf16}) {
    const auto outcome_of = [&](const checkpoint::SafetensorsFile& file) {
      const auto backend = cpu_backend(precision);
      Network network(config, file, *backend);
      return run(network, batch);
    };
    ASSERT_FALSE(has_nan(outcome_of(checkpoint.file())));
    for (const auto& info : checkpoint.file().tensors()) {
      if (info.name == "temperature") continue;  // not the network's: decoding confines it
      spoil(checkpoint.file(), info, spoiled_element(info, batch), path);
      EXPECT_TRUE(has_nan(outcome_of(checkpoint::SafetensorsFile(path))))
          << info.name << ", " << ops::name_of(precision);
    }
  }
}

}  // namespace
}  // namespace abba::model
