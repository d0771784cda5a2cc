// Prints a digest of every stage of the tiny network on the CPU, fp32 and bf16, and whether this
// program has CUDA in it. Built with and without CUDA; cpu_digests_agree.py compares the two.
//   cpu_digests [SEED]      SEED of the token rows, 8 unless given
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/base/sha256.h"
#include "engine/model/batch.h"
#include "engine/model/network.h"
#include "engine/model/reference_forward.h"
#include "experiments/laya/engine_backend.h"
#include "tests/unit/model/tiny_checkpoint.h"

namespace abba::laya {
namespace {

class PrintingTap : public model::Tap {
 public:
  explicit PrintingTap(const char* precision) : precision_(precision) {}
  void see(model::Stage stage, int layer, ops::Backend& backend,
           tensor::ConstView values) override {
    std::vector<float> downloaded(static_cast<std::size_t>(values.element_count()));
    backend.download(values, downloaded.data());
    base::Sha256 digest;
    digest.update(downloaded.data(), downloaded.size() * sizeof(float));
    std::printf("%s %s %s\n", precision_, model::stage_name(stage, layer).c_str(),
                digest.hex_digest().c_str());
  }

 private:
  const char* precision_;
};

void print_digests(const char* precision, unsigned seed) {
  const base::Json settings =
      base::Json::object({{"backend", "cpu"}, {"precision", precision}, {"threads", 1}});
  const auto backend = make_backend(read_settings(settings, {}));
  const auto& tiny = model::testing::TinyCheckpoint::instance();
  model::Network network(tiny.config(), tiny.file(), *backend);
  const model::Batch batch = model::random_batch(tiny.config(), {3, 66, 4}, seed);
  model::LaunchPlan& plan = network.prepare(batch.shape);
  model::Decision decision = network.make_decision(plan);
  PrintingTap tap(precision);
  network.encode(plan, batch, &tap);
  network.decide(plan, decision, &tap);
}

}  // namespace
}  // namespace abba::laya

int main(int argc, char** argv) {
  const unsigned seed = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 8U;
  const abba::base::Json cuda = abba::laya::backends_json().at("cuda");
  const bool without =
      cuda.text_or_empty("reason").find("without a CUDA toolkit") != std::string::npos;
  std::printf("cuda compiled in: %s\n", without ? "no" : "yes");
  for (const char* precision : {"fp32", "bf16"}) abba::laya::print_digests(precision, seed);
  return 0;
}
