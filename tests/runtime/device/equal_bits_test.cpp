// S-5 at the device: in exact mode the sums and the weights are the same bits whatever the cut, the order of the
// microbatches, and whether a stage recomputes. Fast mode is the control: there the order shows.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "runtime/base/machine/bf16_units.h"
#include "tests/runtime/device/local_pipeline.h"

namespace shoal::equal_bits_test {
namespace {

constexpr std::uint32_t kMicrobatches = 6;
constexpr std::uint64_t kSteps = 5;

using State = std::map<std::string, std::vector<float>>;

Step reversed() {
  Step step = in_order(kMicrobatches);
  std::reverse(step.forwards.begin(), step.forwards.end());
  return step;
}

Step shuffled(std::mt19937& random) {
  Step step = in_order(kMicrobatches);
  std::shuffle(step.forwards.begin(), step.forwards.end(), random);
  step.backwards = step.forwards;
  std::shuffle(step.backwards.begin(), step.backwards.end(), random);
  return step;
}

template <class Order>
State train(const Config& config, int stages, const Order& order) {
  LocalPipeline pipeline(config, stages);
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    pipeline.train(step, order(step));
    EXPECT_GT(pipeline.norm(), config.optim.clip_norm) << "clipping bites in step " << step;
  }
  return pipeline.state();
}

State reference(const Config& config) {
  return train(config, 1, [](std::uint64_t) { return in_order(kMicrobatches); });
}

TEST(EqualBits, ForEveryCutAndEveryOrderOfMicrobatches) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const Config config = small_config(Reduction::kExact);
  const State whole = reference(config);
  for (int stages = 1; stages <= 3; ++stages) {
    EXPECT_EQ(whole, train(config, stages, [](std::uint64_t) { return reversed(); })) << stages << " stages, reversed";
    EXPECT_EQ(whole, train(config, stages, [&](std::uint64_t) { return shuffled(random); })) << stages
                                                                                             << " stages, all "
                                                                                                "forwards first";
  }
}

TEST(EqualBits, ForSizesThatFillNoVector) {
  Config config = small_config(Reduction::kExact);
  config.model.heads = 3;
  config.model.width = 27;
  config.model.context = 13;
  const State whole = reference(config);
  EXPECT_EQ(whole, train(config, 2, [](std::uint64_t) { return reversed(); }));
  EXPECT_EQ(whole, train(config, 3, [](std::uint64_t) { return reversed(); }));
}

TEST(EqualBits, ForALlamaWithAndWithoutRecompute) {
  Config config = small_config(Reduction::kExact);
  config.model.kind = ModelKind::kLlama;
  config.model.layers = 4;
  config.model.heads = 4;
  config.model.kv_heads = 2;
  config.model.hidden = 40;
  config.model.qk_norm = true;
  config.model.dropout = 0.1;
  const State whole = reference(config);
  for (const int stages : {2, 4}) {
    for (const bool recompute : {false, true}) {
      config.pipeline.recompute = recompute;
      EXPECT_EQ(whole, train(config, stages, [](std::uint64_t) { return reversed(); })) << stages << " stages";
    }
  }
  config.model.kv_heads = 4;
  EXPECT_NE(whole, reference(config)) << "control";
}

TEST(EqualBits, InBf16TooAndTheyAreOthers) {
  if (bf16_units() == "none") GTEST_SKIP() << "this processor has no units for bf16";
  for (const ModelKind kind : {ModelKind::kGpt2, ModelKind::kLlama}) {
    Config config = small_config(Reduction::kExact);
    config.model.kind = kind;
    const State in_fp32 = reference(config);
    config.model.precision = Precision::kBf16;
    const State whole = reference(config);
    EXPECT_NE(whole, in_fp32) << "control";
    for (int stages = 1; stages <= 3; ++stages) {
      EXPECT_EQ(whole, train(config, stages, [](std::uint64_t) { return reversed(); })) << stages << " stages";
    }
    config.pipeline.recompute = true;
    EXPECT_EQ(whole, train(config, 2, [](std::uint64_t) { return reversed(); }));
  }
}

// The models compute with copies of the weights, which must be those of the weights as they are.
TEST(EqualBits, InBf16AStateThatIsTakenOverIsComputedWith) {
  if (bf16_units() == "none") GTEST_SKIP() << "this processor has no units for bf16";
  Config config = small_config(Reduction::kExact);
  config.model.precision = Precision::kBf16;
  LocalPipeline trained(config, 1);
  trained.train(0, in_order(kMicrobatches));
  LocalPipeline joiner(config, 1);
  joiner.accumulate(0, in_order(1));
  joiner.stage(0).zero();
  ASSERT_TRUE(joiner.stage(0).load_state(trained.stage(0).state_image()).ok());
  EXPECT_EQ(joiner.accumulate(1, in_order(kMicrobatches)), trained.accumulate(1, in_order(kMicrobatches)));
  EXPECT_TRUE(joiner.stage(0).contribution() == trained.stage(0).contribution());
  const auto evaluated = [&](LocalPipeline& pipeline) {
    return pipeline.stage(0).evaluate(random_work(config, 9, 1)).loss_sum;
  };
  EXPECT_EQ(evaluated(joiner), evaluated(trained));
  LocalPipeline fresh(config, 1);
  EXPECT_NE(evaluated(fresh), evaluated(trained)) << "control";
}

TEST(EqualBits, WithTwoThreadsToo) {
  Config config = small_config(Reduction::kExact);
  config.run.threads = 2;
  LocalPipeline one(config, 1);
  LocalPipeline another(config, 1);
  one.accumulate(0, Step{{0, 1}, {}});
  another.accumulate(0, Step{{1, 0}, {}});
  EXPECT_TRUE(one.stage(0).contribution() == another.stage(0).contribution());
}

TEST(EqualBits, WithAndWithoutRecompute) {
  Config config = small_config(Reduction::kExact);
  for (const double dropout : {0.0, 0.2}) {
    config.model.dropout = dropout;
    const State whole = reference(config);
    config.pipeline.recompute = true;
    EXPECT_EQ(whole, train(config, 3, [](std::uint64_t) { return reversed(); })) << "dropout " << dropout;
    config.pipeline.recompute = false;
    EXPECT_EQ(whole, train(config, 2, [](std::uint64_t) { return reversed(); })) << "dropout " << dropout;
  }
}

TEST(EqualBits, FastModeIsTheControlAndDiffersWithTheOrder) {
  const Config config = small_config(Reduction::kFast);
  const State whole = reference(config);
  EXPECT_NE(whole, train(config, 1, [](std::uint64_t) { return reversed(); }));
  EXPECT_EQ(whole, reference(config));
}

TEST(EqualBits, ADroppedOrDoubledMicrobatchShows) {
  const Config config = small_config(Reduction::kExact);
  LocalPipeline complete(config, 1);
  complete.accumulate(0, in_order(kMicrobatches));
  for (const bool doubled : {false, true}) {
    LocalPipeline wrong(config, 1);
    Step step = in_order(kMicrobatches);
    if (doubled)
      step.forwards.push_back(2);
    else
      step.forwards.pop_back();
    wrong.accumulate(0, step);
    EXPECT_FALSE(complete.stage(0).contribution() == wrong.stage(0).contribution());
  }
}

TEST(EqualBits, TheSumsThemselvesAreEqual) {
  const Config config = small_config(Reduction::kExact);
  LocalPipeline in_one_order(config, 2);
  LocalPipeline in_another(config, 2);
  in_one_order.accumulate(0, in_order(kMicrobatches));
  in_another.accumulate(0, reversed());
  for (std::size_t stage = 0; stage < 2; ++stage) {
    EXPECT_EQ(in_one_order.stage(stage).contribution().dtype, DType::kInt64);
    EXPECT_TRUE(in_one_order.stage(stage).contribution() == in_another.stage(stage).contribution());
  }
}

TEST(EqualBits, TwoReplicasThatShareTheStepAddUpToOne) {
  const Config config = small_config(Reduction::kExact);
  LocalPipeline one(config, 1);
  one.accumulate(0, in_order(kMicrobatches));
  LocalPipeline a(config, 1);
  LocalPipeline b(config, 1);
  a.accumulate(0, Step{{0, 3, 5}, {}});
  b.accumulate(0, Step{{4, 1, 2}, {}});
  const TensorBlob sum_a = a.stage(0).contribution();
  const TensorBlob sum_b = b.stage(0).contribution();
  auto bytes = std::make_shared<AlignedBuffer>(sum_a.byte_count());
  for (std::int64_t i = 0; i < sum_a.element_count(); ++i) {
    reinterpret_cast<std::int64_t*>(bytes->data())[i] = sum_a.as<std::int64_t>()[i] + sum_b.as<std::int64_t>()[i];
  }
  const TensorBlob sum{DType::kInt64, sum_a.shape, bytes};
  EXPECT_TRUE(one.stage(0).contribution() == sum);
  const ReducedSum reduced = one.stage(0).adopt_sum(one.stage(0).contribution(), planned_tokens(config));
  EXPECT_EQ(reduced.digest, a.stage(0).adopt_sum(sum, planned_tokens(config)).digest);
  EXPECT_EQ(reduced.norms, b.stage(0).adopt_sum(sum, planned_tokens(config)).norms);
}

}  // namespace
}  // namespace shoal::equal_bits_test
