// Borders in fewer bytes: the arithmetic is that of rounded borders, nothing else changes, and what lies is not
// believed.
#include "runtime/device/decorators/encoding_stage_executor.h"

#include <cmath>
#include <functional>
#include <limits>
#include <span>

#include <gtest/gtest.h>

#include "runtime/sync/wire/wire_codec.h"
#include "tests/runtime/device/local_pipeline.h"
#include "tests/runtime/sync/random_floats.h"

namespace shoal::encoding_stage_executor_test {
namespace {

constexpr std::uint32_t kMicrobatches = 6;
constexpr std::size_t kBlock = 256;
constexpr WireFormat kFewer[] = {WireFormat::kBf16, WireFormat::kInt8};

Config config_of(WireFormat activations, Reduction reduction = Reduction::kExact) {
  Config config = small_config(reduction);
  config.pipeline.activations = activations;
  return config;
}

std::vector<std::int64_t> border_shape(const Config& config) {
  return {config.batch.microbatch, config.model.context, config.model.width};
}

TensorBlob blob_of(std::vector<std::int64_t> shape, const std::vector<float>& values) {
  auto bytes = std::make_shared<AlignedBuffer>(values.size() * sizeof(float));
  std::memcpy(bytes->data(), values.data(), bytes->size());
  return {DType::kFloat32, std::move(shape), std::move(bytes)};
}

TensorBlob blob_of_bytes(const std::vector<std::byte>& content) {
  auto bytes = std::make_shared<AlignedBuffer>(content.size());
  std::memcpy(bytes->data(), content.data(), content.size());
  return {DType::kUint8, {static_cast<std::int64_t>(content.size())}, std::move(bytes)};
}

std::vector<std::byte> bytes_of(const TensorBlob& blob) {
  return {blob.as<std::byte>(), blob.as<std::byte>() + blob.byte_count()};
}

std::vector<float> decoded(const TensorBlob& blob, WireFormat format, std::size_t count) {
  std::vector<float> values(count);
  EXPECT_TRUE(decode_values(blob, format, values).ok());
  return values;
}

double relative_error(const std::vector<float>& values, const std::vector<float>& exact) {
  double error = 0;
  double all = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    error += std::pow(double{values[i]} - double{exact[i]}, 2);
    all += std::pow(double{exact[i]}, 2);
  }
  return std::sqrt(error / all);
}

// Rounds to eight significant bits, ties to even: by the value, where the codec goes by its bits.
float rounded_to_bf16(float value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  const int kept = 8 - std::max(exponent, std::numeric_limits<float>::min_exponent);
  return std::ldexp(std::nearbyint(std::ldexp(value, kept)), -kept);
}

// Steps over plain devices with every border rounded by hand.
class RoundedByHand {
 public:
  explicit RoundedByHand(int stages) : stages_(config_of(WireFormat::kFp32), stages), count_(stages) {}

  double train(std::uint64_t step) {
    double loss_sum = 0;
    for (std::uint32_t index = 0; index < kMicrobatches; ++index) loss_sum += turn(step, index);
    static_cast<void>(stages_.commit(step));
    return loss_sum;
  }
  [[nodiscard]] auto state() const { return stages_.state(); }

 private:
  static TensorBlob rounded(const TensorBlob& blob) {
    std::vector<float> values = floats_of(blob);
    for (float& value : values) value = rounded_to_bf16(value);
    return blob_of(blob.shape, values);
  }

  double turn(std::uint64_t step, std::uint32_t microbatch) {
    MicrobatchWork work = random_work(config_of(WireFormat::kFp32), step, microbatch);
    const auto last = static_cast<std::size_t>(count_ - 1);
    for (std::size_t s = 0; s < last; ++s) work.input = rounded(stages_.stage(s).forward(work));
    BackwardResult result = stages_.stage(last).forward_backward(work, WeightGradients::kAtOnce);
    static_cast<void>(stages_.stage(last).accumulate(work.microbatch));
    const double loss_sum = result.loss_sum;
    for (std::size_t s = last; s-- > 0;) {
      result = stages_.stage(s).backward(work.microbatch, rounded(result.input_gradient), WeightGradients::kAtOnce);
      static_cast<void>(stages_.stage(s).accumulate(work.microbatch));
    }
    return loss_sum;
  }

  LocalPipeline stages_;
  int count_;
};

// Gives what it was made with, and keeps what it was given.
class Echo final : public ForwardingStageExecutor {
 public:
  explicit Echo(TensorBlob answer) : ForwardingStageExecutor(nullptr), answer_(std::move(answer)) {}
  [[nodiscard]] TensorBlob forward(const MicrobatchWork& work) override { return take(work.input); }
  [[nodiscard]] BackwardResult backward(MicrobatchId, const TensorBlob& gradient, WeightGradients) override {
    return take_back(gradient);
  }
  [[nodiscard]] BackwardResult forward_backward(const MicrobatchWork& work, WeightGradients) override {
    return take_back(work.input);
  }
  [[nodiscard]] EvaluateResult evaluate(const MicrobatchWork& work) override { return {take(work.input)}; }
  TensorBlob given;

 private:
  TensorBlob take(const TensorBlob& blob) {
    given = blob;
    return answer_;
  }
  BackwardResult take_back(const TensorBlob& blob) {
    BackwardResult result;
    result.input_gradient = take(blob);
    return result;
  }
  TensorBlob answer_;
};

struct EncodedEcho {
  explicit EncodedEcho(WireFormat format, const TensorBlob& answer) {
    auto device = std::make_unique<Echo>(answer);
    echo = device.get();
    executor = std::make_unique<EncodingStageExecutor>(std::move(device), format, answer.shape);
  }
  Echo* echo;
  std::unique_ptr<StageExecutor> executor;
};

TEST(EncodedBorders, Bf16GivesTheBitsOfBordersThatAreRoundedByHand) {
  for (const int stages : {2, 3}) {
    LocalPipeline encoded(config_of(WireFormat::kBf16), stages);
    LocalPipeline plain(config_of(WireFormat::kFp32), stages);
    RoundedByHand by_hand(stages);
    for (std::uint64_t step = 0; step < 3; ++step) {
      const double loss = encoded.train(step, in_order(kMicrobatches));
      EXPECT_EQ(loss, by_hand.train(step)) << "step " << step;
      EXPECT_NE(loss, plain.train(step, in_order(kMicrobatches))) << "control: the rounding is felt";
    }
    EXPECT_EQ(encoded.state(), by_hand.state());
    EXPECT_NE(encoded.state(), plain.state());
  }
}

TEST(EncodedBorders, RecomputationAndOrderChangeNoBit) {
  for (const WireFormat format : kFewer) {
    Config again = config_of(format);
    again.pipeline.recompute = true;
    LocalPipeline kept(config_of(format), 3);
    LocalPipeline recomputed(again, 3);
    const Step mixed{{3, 0, 5, 1, 4, 2}, {0, 2, 1, 5, 3, 4}};
    EXPECT_DOUBLE_EQ(kept.train(0, in_order(kMicrobatches)), recomputed.train(0, mixed));
    EXPECT_EQ(kept.state(), recomputed.state());
  }
}

TEST(EncodedBorders, AnotherNumberOfStagesGivesOtherBits) {
  for (const WireFormat format : kFewer) {
    LocalPipeline two(config_of(format), 2);
    LocalPipeline three(config_of(format), 3);
    LocalPipeline one(config_of(format), 1);
    LocalPipeline plain(config_of(WireFormat::kFp32), 1);
    for (LocalPipeline* each : {&one, &two, &three, &plain}) each->train(0, in_order(kMicrobatches));
    EXPECT_NE(two.state(), three.state());
    EXPECT_EQ(one.state(), plain.state()) << "one stage has no borders";
  }
}

TEST(EncodedBorders, Int8ErrsByHalfACodeOfItsBlockAtMost) {
  const Config config = config_of(WireFormat::kInt8);
  const MicrobatchWork work = random_work(config, 0, 0);
  const TensorBlob sent = LocalPipeline(config, 2).stage(0).forward(work);
  const std::vector<float> exact = floats_of(LocalPipeline(config_of(WireFormat::kFp32), 2).stage(0).forward(work));
  ASSERT_EQ(sent.byte_count(), kWireHeaderBytes + 4 * exact.size() / kBlock + exact.size());
  const std::vector<float> values = decoded(sent, WireFormat::kInt8, exact.size());
  for (std::size_t begin = 0; begin < exact.size(); begin += kBlock) {
    double largest = 0;
    double error = 0;
    for (std::size_t i = begin; i < begin + kBlock; ++i) {
      largest = std::max(largest, std::abs(double{exact[i]}));
      error = std::max(error, std::abs(double{exact[i]} - double{values[i]}));
    }
    EXPECT_LE(error, 0.501 * largest / 127) << "block at " << begin;
    EXPECT_GT(error, 0.4 * largest / 127) << "control: the bound is near";
  }
  EXPECT_LT(relative_error(values, exact), 0.012);
}

TEST(EncodedBorders, GradientsAreNearThoseOfPlainBorders) {
  const double bounds[] = {0.01, 0.04};
  for (std::size_t which = 0; which < std::size(kFewer); ++which) {
    LocalPipeline encoded(config_of(kFewer[which], Reduction::kFast), 3);
    LocalPipeline plain(config_of(WireFormat::kFp32, Reduction::kFast), 3);
    static_cast<void>(encoded.accumulate(0, in_order(kMicrobatches)));
    static_cast<void>(plain.accumulate(0, in_order(kMicrobatches)));
    for (std::size_t stage = 0; stage < 3; ++stage) {
      const double error =
          relative_error(floats_of(encoded.stage(stage).contribution()), floats_of(plain.stage(stage).contribution()));
      EXPECT_LT(error, bounds[which]) << "stage " << stage;
      EXPECT_GT(error, bounds[which] / 40) << "stage " << stage;
    }
  }
}

TEST(EncodedBorders, ARepeatedForwardIsTheSameBytesFromEveryReplica) {
  for (const WireFormat format : kFewer) {
    const Config config = config_of(format);
    LocalPipeline replica(config, 2);
    LocalPipeline other(config, 2);
    const MicrobatchWork work = random_work(config, 0, 0);
    const TensorBlob sent = replica.stage(0).forward(work);
    EXPECT_EQ(sent.dtype, DType::kUint8);
    EXPECT_TRUE(replica.stage(0).forward(work) == sent);
    EXPECT_TRUE(other.stage(0).forward(work) == sent);
    EXPECT_FALSE(other.stage(0).forward(random_work(config, 0, 1)) == sent) << "control";
    const TensorBlob gradient =
        replica.stage(1).forward_backward({{}, {}, sent, work.targets}, WeightGradients::kAtOnce).input_gradient;
    EXPECT_TRUE(
        other.stage(1).forward_backward({{}, {}, sent, work.targets}, WeightGradients::kAtOnce).input_gradient ==
        gradient);
    EXPECT_EQ(gradient.byte_count(), sent.byte_count());
  }
}

TEST(EncodedBorders, EvaluationsTravelInTheSameForm) {
  const Config config = config_of(WireFormat::kBf16);
  LocalPipeline pipeline(config, 2);
  const MicrobatchWork work = random_work(config, 0, 0);
  const EvaluateResult first = pipeline.stage(0).evaluate(work);
  EXPECT_TRUE(first.activation == pipeline.stage(0).forward(work));
  const EvaluateResult last = pipeline.stage(1).evaluate({{}, {}, first.activation, work.targets});
  EXPECT_FALSE(last.activation.has_value());
  EXPECT_EQ(
      last.loss_sum,
      pipeline.stage(1).forward_backward({{}, {}, first.activation, work.targets}, WeightGradients::kAtOnce).loss_sum);
}

TEST(EncodedBorders, TokensGoThroughAsTheyAre) {
  const Config config = config_of(WireFormat::kInt8);
  const MicrobatchWork work = random_work(config, 0, 0);
  EncodedEcho encoded(WireFormat::kInt8, {});
  static_cast<void>(encoded.executor->forward(work));
  EXPECT_EQ(encoded.echo->given.bytes, work.input.bytes);
}

TEST(EncodedBorders, WhatNoFormatCarriesGoesAsItIs) {
  std::vector<float> values(512, 0.25F);
  for (const WireFormat format : kFewer) {
    values[300] = 0x1p100F;
    EncodedEcho largest(format, blob_of({2, 2, 128}, values));
    EXPECT_EQ(largest.executor->forward({}).dtype, DType::kUint8) << "control";
    for (const float beyond :
         {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity(), 0x1.1p100F}) {
      values[300] = beyond;
      const TensorBlob plain = blob_of({2, 2, 128}, values);
      EncodedEcho encoded(format, plain);
      EXPECT_TRUE(encoded.executor->forward({}) == plain);
      EXPECT_TRUE(encoded.executor->backward({}, plain, WeightGradients::kAtOnce).input_gradient == plain);
      EXPECT_TRUE(encoded.echo->given == plain) << "and arrives as it is";
      EXPECT_TRUE(encoded.executor->forward_backward({{}, {}, plain, {}}, WeightGradients::kAtOnce).input_gradient ==
                  plain);
      EXPECT_TRUE(encoded.executor->evaluate({{}, {}, plain, {}}).activation == plain);
    }
  }
}

// The loss, then the gradients of the stages before are no numbers, as with plain borders, and the step is skipped.
TEST(EncodedBorders, ADivergedMicrobatchIsReportedByEveryStage) {
  for (const WireFormat format : kFewer) {
    const Config config = config_of(format);
    LocalPipeline pipeline(config, 2);
    const MicrobatchWork work = random_work(config, 0, 0);
    static_cast<void>(pipeline.stage(0).forward(work));
    std::vector<float> values(2 * 16 * 32, 0.5F);
    values[7] = std::numeric_limits<float>::quiet_NaN();
    BackwardResult result = pipeline.stage(1).forward_backward(
        {{}, {}, blob_of(border_shape(config), values), work.targets}, WeightGradients::kAtOnce);
    EXPECT_EQ(pipeline.stage(1).accumulate({}).bad_tensor, "loss");
    static_cast<void>(pipeline.stage(0).backward(work.microbatch, result.input_gradient, WeightGradients::kAtOnce));
    EXPECT_TRUE(pipeline.stage(0).accumulate({}).bad_tensor.has_value());
  }
}

struct Lie {
  const char* name;
  std::function<void(std::vector<std::byte>&)> tell;
};
const std::vector<Lie> kLies = {
    {"short", [](auto& bytes) { bytes.pop_back(); }},
    {"long", [](auto& bytes) { bytes.push_back(std::byte{0}); }},
    {"empty", [](auto& bytes) { bytes.clear(); }},
    {"no header", [](auto& bytes) { bytes.resize(kWireHeaderBytes / 2); }},
    {"magic", [](auto& bytes) { bytes[0] = std::byte{'X'}; }},
    {"format", [](auto& bytes) { bytes[4] ^= std::byte{3}; }},
    {"count", [](auto& bytes) { bytes[8] ^= std::byte{1}; }},
    {"enormous count", [](auto& bytes) { bytes[15] = std::byte{0x7F}; }},
    {"NaN as a value or a scale",
     [](auto& bytes) { std::fill_n(bytes.begin() + kWireHeaderBytes, 4, std::byte{0xFF}); }},
};

// An actor that throws ends: its supervisor decides, as after a float32 tensor of a wrong shape.
void expect_refused(Config config, const TensorBlob& lie, const char* what) {
  LocalPipeline pipeline(config, 2);
  const MicrobatchWork work = random_work(config, 0, 0);
  static_cast<void>(pipeline.stage(0).forward(work));
  const MicrobatchWork wrong{{}, {}, lie, work.targets};
  EXPECT_ANY_THROW(static_cast<void>(pipeline.stage(1).forward_backward(wrong, WeightGradients::kAtOnce))) << what;
  EXPECT_ANY_THROW(static_cast<void>(pipeline.stage(1).evaluate(wrong))) << what;
  EXPECT_ANY_THROW(static_cast<void>(pipeline.stage(0).backward(work.microbatch, lie, WeightGradients::kAtOnce)))
      << what;
  LocalPipeline untouched(config, 2);
  for (std::size_t stage = 0; stage < 2; ++stage) {
    EXPECT_TRUE(pipeline.stage(stage).contribution() == untouched.stage(stage).contribution()) << what;
  }
}

TEST(EncodedBorders, BytesThatAreNoVectorOfTheFormatEndTheActorAndAddNothing) {
  for (const WireFormat format : kFewer) {
    const Config config = config_of(format);
    const std::vector<std::byte> good = bytes_of(LocalPipeline(config, 2).stage(0).forward(random_work(config, 0, 0)));
    for (const Lie& lie : kLies) {
      std::vector<std::byte> bad = good;
      lie.tell(bad);
      expect_refused(config, blob_of_bytes(bad), lie.name);
    }
    TensorBlob reshaped = blob_of_bytes(good);
    reshaped.shape.insert(reshaped.shape.begin(), 1);
    expect_refused(config, reshaped, "another shape");
    expect_refused(config, *encode_values(format, std::vector<float>(512)), "another count");
    expect_refused(config, *encode_values(WireFormat::kE3m0, std::vector<float>(1024)), "another format");
    for (const WireFormat any : {WireFormat::kFp32, format}) {
      expect_refused(config_of(any), blob_of({2, 16, 31}, std::vector<float>(2 * 16 * 31)), "floats of another shape");
      expect_refused(config_of(any), {}, "nothing");
    }
  }
}

TEST(EncodedBorders, APacedDeviceEncodesAsWell) {
  const Config config = config_of(WireFormat::kInt8);
  auto paced = make_stage_executor({config, StageId{0}, 2, "paced:0.1"});
  ASSERT_TRUE(paced.ok());
  const MicrobatchWork work = random_work(config, 0, 0);
  EXPECT_TRUE((*paced)->forward(work) == LocalPipeline(config, 2).stage(0).forward(work));
}

}  // namespace
}  // namespace shoal::encoding_stage_executor_test
