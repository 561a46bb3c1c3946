// Jobs that end later, on a device that does what the test says: order, figures, faults, a hang.
#include "runtime/pipeline/late/late_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "runtime/executor/late_stage_executor.h"
#include "tests/support/fake_executor.h"

namespace shoal::late_runner_test {
namespace {

using namespace std::chrono_literals;

struct DeviceBroken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Mark final : public DeviceMark {
 public:
  [[nodiscard]] bool is_reached() const override {
    if (is_broken) throw DeviceBroken("an illegal address");
    return is_done;
  }
  void wait() const override {}
  std::atomic<bool> is_done{false};
  std::atomic<bool> is_broken{false};
};

// Moved by the test while the runner's thread reads it.
class MovedClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override {
    ++looks_;
    return Instant{} + std::chrono::seconds(seconds);
  }
  [[nodiscard]] std::chrono::system_clock::time_point wall_now() const override { return {}; }
  // Until the runner has seen it.
  void jump(int by_seconds) {
    const int seen = looks_;
    seconds += by_seconds;
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (looks_ < seen + 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  }
  void pass(int count) {
    for (int i = 0; i < count; ++i) jump(1);
  }
  std::atomic<int> seconds{3600};

 private:
  mutable std::atomic<int> looks_{0};
};

// Computes at once, and says so when the test lets it.
class SlowDevice final : public LateStageExecutor {
 public:
  explicit SlowDevice(FakeShape shape) : fake_(shape) {}
  [[nodiscard]] LateEnding ending() override {
    if (fails_at_endings) throw DeviceBroken("a lost device");
    auto mark = std::make_shared<Mark>();
    marks.push_back(mark);
    const auto number = static_cast<double>(marks.size());
    return {mark, [number] { return LateFigures{number, "tensor"}; }};
  }
  void injure(DeviceInjury /*how*/) override {}
  std::vector<std::shared_ptr<Mark>> marks;
  bool fails_at_endings = false;
  bool fails_at_calls = false;

  TensorBlob forward(const MicrobatchWork& work) override { return fake_.forward(work); }
  BackwardResult backward(MicrobatchId m, const TensorBlob& d, WeightGradients w) override {
    return fake_.backward(m, d, w);
  }
  BackwardResult forward_backward(const MicrobatchWork& work, WeightGradients when) override {
    return fake_.forward_backward(work, when);
  }
  AccumulateResult accumulate(MicrobatchId microbatch) override { return fake_.accumulate(microbatch); }
  EvaluateResult evaluate(const MicrobatchWork& work) override {
    if (fails_at_calls) throw DeviceBroken("no memory left");
    return fake_.evaluate(work);
  }
  void zero() override { fake_.zero(); }
  TensorBlob contribution() const override { return fake_.contribution(); }
  ReducedSum adopt_sum(const TensorBlob& sum, std::uint64_t count) override { return fake_.adopt_sum(sum, count); }
  void apply(const UpdateOrder& order) override { fake_.apply(order); }
  void skip() override { fake_.skip(); }
  std::uint64_t state_digest() const override { return fake_.state_digest(); }
  TensorBlob state_image() const override { return fake_.state_image(); }
  Status load_state(const TensorBlob& image) override { return fake_.load_state(image); }
  std::shared_ptr<ImageSource> image_source() override { return fake_.image_source(); }
  Result<bool> load_piece(const ImagePiece& piece) override { return fake_.load_piece(piece); }
  std::vector<std::string> tensor_names() const override { return fake_.tensor_names(); }
  TensorBlob contribute_round(std::uint32_t fragment) override { return fake_.contribute_round(fragment); }
  std::uint64_t apply_round(const RoundUpdate& update) override { return fake_.apply_round(update); }
  std::vector<std::uint64_t> restart_from_outer() override { return fake_.restart_from_outer(); }

 private:
  FakeExecutor fake_;
};

// A runner over such a device as the last of one stage, and what it told.
class Bench {
 public:
  explicit Bench(Duration patience = 1h) {
    auto executor = std::make_unique<SlowDevice>(FakeShape{.stage = 0, .stage_count = 1, .microbatch_count = 4});
    device = executor.get();
    LateSettings settings;
    settings.patience = patience;
    settings.clock = clock;
    settings.device_fault = [](const std::exception_ptr& problem) -> std::optional<std::string> {
      try {
        std::rethrow_exception(problem);
      } catch (const DeviceBroken& broken) {
        return broken.what();
      } catch (...) {
        return std::nullopt;
      }
    };
    settings.end_process = [this](const std::string& reason) { tell([&] { faults.push_back(reason); }); };
    runner = run_later(
        std::move(executor), device, [this](JobEnd end) { tell([&] { ends.push_back(end); }); }, std::move(settings));
  }

  static Job loss(std::uint32_t microbatch, WeightGradients when = WeightGradients::kAtOnce) {
    const MicrobatchId id{microbatch};
    return LossJob{{StepId{0}, id, FakeExecutor::input_of(0, StepId{0}, id), FakeExecutor::input_of(0, StepId{0}, id)},
                   when};
  }
  void wait_for(std::size_t end_count, std::size_t fault_count = 0) {
    std::unique_lock lock(mutex);
    told.wait(lock, [&] { return ends.size() >= end_count && faults.size() >= fault_count; });
  }

  std::shared_ptr<MovedClock> clock = std::make_shared<MovedClock>();
  SlowDevice* device = nullptr;
  std::mutex mutex;
  std::condition_variable told;
  std::vector<JobEnd> ends;
  std::vector<std::string> faults;
  std::unique_ptr<JobRunner> runner;  // last: its thread tells the others

 private:
  template <class Note>
  void tell(const Note& note) {
    const std::lock_guard lock(mutex);
    note();
    told.notify_all();
  }
};

TEST(LateRunner, TellsOfEndsInOrderWithTheFiguresThatCameLater) {
  Bench bench;
  for (const std::uint32_t microbatch : {0U, 1U, 2U}) EXPECT_FALSE(bench.runner->begin(Bench::loss(microbatch)));
  bench.device->marks[1]->is_done = true;  // ahead of its turn
  bench.device->marks[0]->is_done = true;
  bench.wait_for(2);
  bench.device->marks[2]->is_done = true;
  bench.wait_for(3);
  for (std::uint32_t number : {0U, 1U, 2U}) {
    const auto& result = std::get<Differentiated>(std::get<JobResult>(bench.ends[number].outcome));
    EXPECT_EQ(result.microbatch, MicrobatchId{number});
    EXPECT_EQ(result.result.loss_sum, number + 1.0);
    EXPECT_EQ(result.accumulated->bad_tensor, "tensor");
  }
}

TEST(LateRunner, AnswersAtOnceWhatHasWaited) {
  Bench bench;
  const auto end = bench.runner->begin(ContributeJob{});
  ASSERT_TRUE(end);
  EXPECT_TRUE(std::holds_alternative<Contributed>(std::get<JobResult>(end->outcome)));
}

TEST(LateRunner, ABugIsTheOutcomeOfItsJobInItsTurn) {
  Bench bench;
  EXPECT_FALSE(bench.runner->begin(Bench::loss(0)));
  EXPECT_FALSE(bench.runner->begin(AccumulateJob{MicrobatchId{3}}));  // of no backward
  bench.device->marks[0]->is_done = true;
  bench.wait_for(2);
  EXPECT_TRUE(std::holds_alternative<JobResult>(bench.ends[0].outcome));
  EXPECT_TRUE(std::holds_alternative<std::exception_ptr>(bench.ends[1].outcome));
  EXPECT_TRUE(bench.faults.empty());
}

TEST(LateRunner, ABrokenDeviceEndsTheProcessAndNoJob) {
  Bench bench;
  EXPECT_FALSE(bench.runner->begin(Bench::loss(0)));
  EXPECT_FALSE(bench.runner->begin(Bench::loss(1)));
  bench.device->marks[0]->is_broken = true;
  bench.wait_for(0, 1);
  EXPECT_EQ(bench.faults, std::vector<std::string>{"an illegal address"});
  EXPECT_TRUE(bench.ends.empty());
}

TEST(LateRunner, ADeviceThatFailsAsAJobIsHandedInEndsTheProcessToo) {
  Bench bench;
  bench.device->fails_at_endings = true;
  EXPECT_FALSE(bench.runner->begin(Bench::loss(0)));
  bench.device->fails_at_calls = true;
  EXPECT_FALSE(bench.runner->begin(EvaluateJob{}));
  EXPECT_THAT(bench.faults, ::testing::ElementsAre("a lost device", "no memory left"));
  EXPECT_TRUE(bench.ends.empty());
}

TEST(LateRunner, AHangEndsTheProcessAndADeviceThatWorksOnDoesNot) {
  Bench bench(10s);
  EXPECT_FALSE(bench.runner->begin(Bench::loss(0)));
  EXPECT_FALSE(bench.runner->begin(Bench::loss(1)));
  bench.clock->pass(9);
  bench.device->marks[0]->is_done = true;
  bench.wait_for(1);
  bench.clock->pass(9);     // 18 s since the second was handed in, 9 s since the device came to it
  bench.clock->jump(3600);  // a pause of the whole process, of which a second counts
  {
    const std::lock_guard lock(bench.mutex);
    EXPECT_TRUE(bench.faults.empty());
  }
  bench.clock->seconds += 1;
  bench.wait_for(1, 1);
  EXPECT_THAT(bench.faults[0], ::testing::HasSubstr("the device hangs"));
  EXPECT_EQ(bench.ends.size(), 1U);
}

TEST(LateRunner, EndsWithJobsUnderWay) {
  Bench bench;
  EXPECT_FALSE(bench.runner->begin(Bench::loss(0)));
  bench.runner.reset();
  EXPECT_TRUE(bench.ends.empty());
}

}  // namespace
}  // namespace shoal::late_runner_test
