// A stage on a GPU against the same stage on the processor. Skipped, with the driver's sentence, where there is no GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "runtime/device/plugin/load_plugin.h"
#include "runtime/sync/wire/wire_codec.h"
#include "tests/runtime/device/local_pipeline.h"

namespace shoal::stage_test {
namespace {

constexpr std::uint32_t kMicrobatches = 6;

// A folder with the part for GPUs: that of this program.
std::string folder() { return std::filesystem::read_symlink("/proc/self/exe").parent_path().string(); }

// The sentence why not.
std::string lacks_gpu() {
  static const Status ready = prepare_device("cuda:0", folder());
  return ready ? std::string() : ready.failure().message;
}

// Large enough for the kernels that a real model gets: heads of 64, rows of 256.
Config config_of(Reduction reduction) {
  Config config = small_config(reduction);
  config.model = {.layers = 2, .heads = 4, .width = 256, .context = 128, .vocabulary = 512};
  config.optim.eps = 1e-3;  // else a gradient of almost nothing takes as large a step as any, either way
  return config;
}

std::unique_ptr<StageExecutor> made(const Config& config, const std::string& device) {
  auto executor = make_stage_executor({config, StageId{0}, 1, device});
  if (!executor) throw std::runtime_error(executor.failure().message);
  return std::move(*executor);
}

struct Passed {
  double loss = 0;
  TensorBlob sums;
};

Passed accumulate(StageExecutor& executor, const Config& config) {
  Passed passed;
  for (std::uint32_t index = 0; index < kMicrobatches; ++index) {
    const auto work = random_work(config, 0, index);
    passed.loss += executor.forward_backward(work, WeightGradients::kLater).loss_sum;
    EXPECT_EQ(executor.accumulate(work.microbatch).bad_tensor, std::nullopt);
  }
  passed.sums = on_host(executor.contribution());
  return passed;
}

double largest(const TensorBlob& sums, const TensorBlob* less = nullptr) {
  double most = 0;
  for (std::int64_t i = 0; i < sums.element_count(); ++i) {
    const double other = less == nullptr ? 0 : less->as<float>()[i];
    most = std::max(most, std::abs(static_cast<double>(sums.as<float>()[i]) - other));
  }
  return most;
}

class GpuStage : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = lacks_gpu(); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_F(GpuStage, HasTheProcessorsLossAndGradients) {
  for (const bool is_llama : {false, true}) {
    Config config = config_of(Reduction::kFast);
    if (is_llama) config.model.kind = ModelKind::kLlama;
    if (is_llama) config.model.hidden = 768;
    const auto cpu = made(config, "cpu");
    const auto gpu = made(config, "cuda:0");
    const Passed ours = accumulate(*cpu, config);
    const Passed theirs = accumulate(*gpu, config);
    EXPECT_NEAR(theirs.loss, ours.loss, 1e-5 * ours.loss);
    EXPECT_LT(largest(theirs.sums, &ours.sums), 1e-4 * largest(ours.sums));
    Config other = config;  // the control
    other.run.seed = 2;
    EXPECT_GT(largest(accumulate(*made(other, "cuda:0"), other).sums, &ours.sums), 1e-2 * largest(ours.sums));
  }
}

// Products in bf16, sums and weights in float32: near the processor's float32, and nearer than a wrong model would be.
TEST_F(GpuStage, InBf16IsNearTheProcessorsFloat32) {
  for (const bool is_llama : {false, true}) {
    Config config = config_of(Reduction::kFast);
    if (is_llama) config.model.kind = ModelKind::kLlama;
    if (is_llama) config.model.hidden = 768;
    const Passed ours = accumulate(*made(config, "cpu"), config);
    config.model.precision = Precision::kBf16;
    const Passed theirs = accumulate(*made(config, "cuda:0"), config);
    EXPECT_NEAR(theirs.loss, ours.loss, 5e-3 * ours.loss);
    EXPECT_LT(largest(theirs.sums, &ours.sums), 3e-2 * largest(ours.sums));
    EXPECT_NE(theirs.sums, ours.sums);
    config.run.seed = 2;  // the control
    EXPECT_GT(largest(accumulate(*made(config, "cuda:0"), config).sums, &ours.sums), 1e-1 * largest(ours.sums));
  }
}

// No kernel of a GPU has heads of these sizes: they are padded (model/parts/padded_heads.h), and beyond 256 elements
// another operator takes them.
TEST_F(GpuStage, TakesHeadsOfAnySize) {
  struct Heads {
    Precision precision;
    int heads, width;
  };
  for (const Heads& of : {Heads{Precision::kFp32, 4, 40}, Heads{Precision::kBf16, 4, 240},
                          Heads{Precision::kBf16, 4, 40}, Heads{Precision::kBf16, 2, 528}}) {
    for (const bool is_llama : {false, true}) {
      SCOPED_TRACE(testing::Message() << of.heads << " heads of " << of.width / of.heads
                                      << (is_llama ? ", llama" : ""));
      Config config = config_of(Reduction::kFast);
      config.model.heads = of.heads;
      config.model.width = of.width;
      if (is_llama) config.model.kind = ModelKind::kLlama;
      if (is_llama) config.model.hidden = 3 * of.width;
      const Passed ours = accumulate(*made(config, "cpu"), config);
      const bool is_bf16 = of.precision == Precision::kBf16;
      config.model.precision = of.precision;
      const Passed theirs = accumulate(*made(config, "cuda:0"), config);
      EXPECT_NEAR(theirs.loss, ours.loss, (is_bf16 ? 5e-3 : 1e-5) * ours.loss);
      EXPECT_LT(largest(theirs.sums, &ours.sums), (is_bf16 ? 3e-2 : 1e-4) * largest(ours.sums));
      config.run.seed = 2;  // the control
      EXPECT_GT(largest(accumulate(*made(config, "cuda:0"), config).sums, &ours.sums), 1e-1 * largest(ours.sums));
    }
  }
}

TEST_F(GpuStage, DrawsTheProcessorsDropout) {
  Config config = config_of(Reduction::kFast);
  config.model.dropout = 0.1;
  const Passed ours = accumulate(*made(config, "cpu"), config);
  EXPECT_LT(largest(accumulate(*made(config, "cuda:0"), config).sums, &ours.sums), 1e-4 * largest(ours.sums));
  config.model.dropout = 0.11;  // the control: another mask
  EXPECT_GT(largest(accumulate(*made(config, "cuda:0"), config).sums, &ours.sums), 1e-2 * largest(ours.sums));
}

TEST_F(GpuStage, RepeatsItsBitsInExactMode) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    Config config = config_of(Reduction::kExact);
    config.model.precision = precision;
    const Passed first = accumulate(*made(config, "cuda:0"), config);
    const Passed second = accumulate(*made(config, "cuda:0"), config);
    EXPECT_EQ(first.sums, second.sums);
  }
}

TEST_F(GpuStage, ItsStateGoesToTheProcessorAndBack) {
  const Config config = config_of(Reduction::kExact);
  const auto gpu = made(config, "cuda:0");
  const auto cpu = made(config, "cpu");
  static_cast<void>(accumulate(*gpu, config));
  static_cast<void>(gpu->adopt_sum(gpu->contribution(), planned_tokens(config)));
  gpu->apply({1e-2, 1, 1});
  ASSERT_TRUE(cpu->load_state(gpu->state_image()).ok());
  EXPECT_EQ(cpu->state_digest(), gpu->state_digest());
}

TEST_F(GpuStage, HasTheProcessorsMeanAndUpdateOfOneSum) {
  const Config config = config_of(Reduction::kExact);
  const auto cpu = made(config, "cpu");
  const auto gpu = made(config, "cuda:0");
  const Passed ours = accumulate(*cpu, config);
  const ReducedSum mean = cpu->adopt_sum(ours.sums, 777);
  const ReducedSum mean_there = gpu->adopt_sum(ours.sums, 777);
  EXPECT_EQ(mean_there.digest, mean.digest);
  ASSERT_EQ(mean_there.norms.size(), mean.norms.size());
  for (std::size_t i = 0; i < mean.norms.size(); ++i) {
    EXPECT_EQ(mean_there.norms[i].squared_norm, mean.norms[i].squared_norm) << mean.norms[i].name;
  }
  cpu->apply({1e-2, 0.5, 1});  // by our kernels, with the bits of the processor's loop
  gpu->apply({1e-2, 0.5, 1});
  EXPECT_EQ(gpu->state_digest(), cpu->state_digest());
}

// What a GPU encodes has the bytes of the processor's codec; another stage on the GPU decodes what one behind the host
// does.
TEST_F(GpuStage, EncodesBordersWithTheProcessorsBytes) {
  const auto stage = [](const Config& config, std::uint32_t index) {
    auto made = make_stage_executor({config, StageId{index}, 2, "cuda:0", Answering::kLater});
    if (!made) throw std::runtime_error(made.failure().message);
    return std::move(*made);
  };
  const Config plain = config_of(Reduction::kExact);
  const MicrobatchWork work = random_work(plain, 0, 0);
  const TensorBlob values = on_host(stage(plain, 0)->forward(work));
  for (const WireFormat format : {WireFormat::kBf16, WireFormat::kInt8}) {
    Config config = plain;
    config.pipeline.activations = format;
    const auto first = stage(config, 0);
    const TensorBlob sent = first->forward(work);
    ASSERT_TRUE(sent.resident);
    EXPECT_EQ(on_host(sent), *encode_values(format, {values.as<float>(), values.bytes->size() / sizeof(float)}));
    TensorBlob sums[2];
    for (const bool is_near : {false, true}) {
      const auto last = stage(config, 1);
      const TensorBlob came = is_near ? sent : on_host(sent);
      const auto back = last->forward_backward({{}, work.microbatch, came, work.targets}, WeightGradients::kLater);
      EXPECT_EQ(on_host(back.input_gradient).dtype, DType::kUint8);
      EXPECT_EQ(last->accumulate(work.microbatch).bad_tensor, std::nullopt);
      sums[is_near ? 1 : 0] = on_host(last->contribution());
    }
    EXPECT_EQ(sums[0], sums[1]);
    const auto control = stage(config, 1);
    static_cast<void>(control->forward_backward({{}, work.microbatch, values, work.targets}, WeightGradients::kLater));
    static_cast<void>(control->accumulate(work.microbatch));
    EXPECT_NE(on_host(control->contribution()), sums[0]) << "the control: the rounding is felt";
  }
}

TEST_F(GpuStage, LeavesValuesThatNoFormatCarriesAsTheyAre) {
  Config config = config_of(Reduction::kExact);
  config.pipeline.activations = WireFormat::kInt8;
  auto last = make_stage_executor({config, StageId{1}, 2, "cuda:0", Answering::kLater});
  ASSERT_TRUE(last.ok());
  const MicrobatchWork work = random_work(config, 0, 0);
  const std::int64_t rows = config.batch.microbatch;
  const auto count = static_cast<std::size_t>(rows * config.model.context * config.model.width);
  auto bytes = std::make_shared<AlignedBuffer>(count * sizeof(float));
  std::fill_n(reinterpret_cast<float*>(bytes->data()), count, NAN);
  const TensorBlob diverged{DType::kFloat32, {rows, config.model.context, config.model.width}, bytes};
  const auto back = (*last)->forward_backward({{}, work.microbatch, diverged, work.targets}, WeightGradients::kLater);
  EXPECT_EQ(back.input_gradient.dtype, DType::kUint8) << "the device alone knows";
  const TensorBlob came = on_host(back.input_gradient);
  ASSERT_EQ(came.dtype, DType::kFloat32);
  EXPECT_EQ(came.shape, diverged.shape);
  EXPECT_TRUE(std::isnan(*came.as<float>()));
}

// Outer parameters lie on the GPU, and are updated there.
TEST_F(GpuStage, HasTheProcessorsRounds) {
  for (const OuterUpdate how : {OuterUpdate::kWait, OuterUpdate::kEager}) {
    Config config = config_of(Reduction::kFast);
    config.sync.mode = SyncMode::kDiloco;
    config.sync.fragments = 2;
    config.sync.outer_update = how;
    config.sync.mix = 0.25;
    const auto cpu = made(config, "cpu");
    const auto gpu = made(config, "cuda:0");
    for (std::uint64_t boundary = 1; boundary <= 2; ++boundary) {
      static_cast<void>(accumulate(*gpu, config));
      static_cast<void>(gpu->adopt_sum(gpu->contribution(), planned_tokens(config)));
      gpu->apply({1e-2, 1, boundary});
      ASSERT_TRUE(cpu->load_state(gpu->state_image()).ok());
      for (std::uint32_t fragment = 0; fragment < 2; ++fragment) {
        const TensorBlob delta = cpu->contribute_round(fragment);
        EXPECT_EQ(on_host(gpu->contribute_round(fragment)), delta);
        const std::uint64_t before = gpu->state_digest();
        RoundUpdate update{.fragment = fragment, .round = boundary, .mean = delta};
        update.own_weight = update.total_weight = update.newest_weight = 100;
        EXPECT_EQ(gpu->apply_round(update), cpu->apply_round(update));
        EXPECT_EQ(gpu->state_digest(), cpu->state_digest());
        EXPECT_NE(gpu->state_digest(), before) << "the control";
      }
      EXPECT_EQ(gpu->state_image(), cpu->state_image());
    }
  }
}

}  // namespace
}  // namespace shoal::stage_test
