// The stage actor as a shell: what it is told reaches its core, what the core decides reaches its router, jobs run one
// at a time between messages, and it ends with a reason. Scheduled on CAF's test coordinator: no threads, no clock.
#include "actors/stage.h"

#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <stdexcept>

#include <caf/scheduler/test_coordinator.hpp>

#include "tests/actors/lone_actor.h"
#include "tests/support/member_bench.h"

namespace shoal::stage_test {
namespace {

class StageTest : public testing::Test {
 protected:
  StageTest() {
    config_.set("scheduler.policy", caf::atom("testing"));
    system_ = std::make_unique<caf::actor_system>(config_);
    coordinator_ = dynamic_cast<caf::scheduler::test_coordinator*>(&system_->scheduler());
    coordinator_->clock().current_time += std::chrono::hours(1);
    router_ = system_->spawn(keep_letters, letters_);
    StageSettings settings;
    settings.order.stage = StageId{1};
    settings.order.replica = kB0;
    settings.config.pipeline.stages = 2;
    settings.config.batch.sequences = static_cast<int>(kMicrobatches) * settings.config.batch.microbatch;
    settings.run = kRun;
    settings.term = Term{1};
    settings.process = ProcessIncarnation{20};
    settings.router = router_;
    settings.note = note_;
    settings.on_device = {meter_, DevicePeak{7, 2, 3}, 1, 5};
    settings.make_runner = [this](const TellJobEnd&) {
      auto executor = std::make_unique<FakeExecutor>(FakeShape{1, 2, kMicrobatches});
      executor->set_trap(StepId{0}, MicrobatchId{1}, FakeExecutor::Pass::kForward, [this] {
        if (trap_) trap_();
      });
      return run_at_once(std::move(executor));
    };
    stage_ = system_->spawn(stage, settings);
    coordinator_->run();
  }
  ~StageTest() override {
    caf::anon_send_exit(stage_, caf::exit_reason::kill);
    caf::anon_send_exit(router_, caf::exit_reason::kill);
    coordinator_->run();
    stage_ = nullptr;
    router_ = nullptr;
  }

  template <class Message>
  void give(const Message& message) {
    caf::anon_send(stage_, as_heard(message));
    coordinator_->run();
  }
  void journal(JournalBody body) { give(JournalEntry{JournalPosition{++entries_}, {}, Term{1}, std::move(body)}); }
  void admit(Incarnation replica) {
    journal(AddReplica{StageId{stage_of(replica)}, {}, replica, ProcessIncarnation{replica.value}, 0});
  }
  template <class Body>
  [[nodiscard]] std::vector<Body> sent() const {
    std::vector<Body> found;
    for (const Letter& letter : *letters_) {
      if (const auto* body = std::get_if<Body>(&letter.body)) found.push_back(*body);
    }
    return found;
  }

  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  caf::scheduler::test_coordinator* coordinator_ = nullptr;
  std::shared_ptr<std::vector<Letter>> letters_ = std::make_shared<std::vector<Letter>>();
  RouterActor router_;
  std::shared_ptr<WorkNote> note_ = std::make_shared<WorkNote>();
  std::shared_ptr<DeviceMeter> meter_ = std::make_shared<DeviceMeter>(Instant{}, [] {
    DeviceUse use;
    use.memory_bytes = 300;
    return use;
  });
  std::function<void()> trap_;  // sprung by the first step's microbatch 1
  StageActor stage_;
  std::uint64_t entries_ = 0;
};

TEST_F(StageTest, SaysItIsReadyAndComputesOnceItIsAMember) {
  ASSERT_EQ(sent<StageReady>().size(), 1U);
  EXPECT_EQ(sent<StageReady>()[0].replica, kB0);
  give(forward_to(kB0, 0));
  EXPECT_EQ(sent<Refusal>().size(), 1U);
  admit(kA0);
  admit(kB0);
  for (const std::uint32_t microbatch : {2U, 0U, 1U, 3U}) {
    caf::anon_send(stage_, as_heard(forward_to(kB0, microbatch)));
  }
  coordinator_->run();
  const auto replies = sent<Backward>();
  ASSERT_EQ(replies.size(), 4U);
  for (std::uint32_t at = 0; at < 4; ++at) {
    EXPECT_EQ(replies[at].cause.microbatch.value, at) << "not the oldest of what was in the mailbox";
  }
}

TEST_F(StageTest, CarriesAStepToItsApply) {
  admit(kA0);
  admit(kB0);
  DeviceMeter::Mark begun;
  (void)meter_->since(begun, Instant{} + std::chrono::hours(1));
  give(forward_to(kB0, 1));
  const auto tokens = sent<Backward>().at(0).token_count;
  EXPECT_GT(tokens, 0U);
  EXPECT_EQ(meter_->since(begun, Instant{} + std::chrono::hours(2)).multiply_adds, 5 * tokens);
  const OrderId order{kRun, {}, Term{1}, StageId{1}, StepId{0}, Epoch{kGroup, 1}};
  give(Prepare{order, {}});
  give(Reduce{order, {kB0}, 10});
  ASSERT_EQ(sent<Reduced>().size(), 1U);
  Commit commit;
  commit.stages = {{StageId{1}, order.epoch, 0, {}}};
  journal(commit);
  ASSERT_EQ(sent<ReplicaReport>().size(), 1U);
  EXPECT_EQ(sent<ReplicaReport>()[0].microbatches, 1U);
  EXPECT_EQ(sent<ReplicaReport>()[0].use.memory_bytes, 300U);
  EXPECT_EQ(sent<ReplicaReport>()[0].use.threads, 1U);
  EXPECT_EQ(sent<ReplicaReport>()[0].use.peak, (DevicePeak{7, 2, 3}));
}

TEST_F(StageTest, EndsWhenItIsRemoved) {
  caf::scoped_actor observer{*system_};
  observer->monitor(stage_);
  admit(kB0);
  journal(RemoveReplica{StageId{1}, kB0, "silent"});
  bool is_down = false;
  observer->receive([&is_down](const caf::down_msg& down) { is_down = static_cast<bool>(down.reason); });
  EXPECT_TRUE(is_down);
}

// Who ends of what it computes leaves its note, which is evidence against the microbatch.
TEST_F(StageTest, LeavesANoteOfWhatItWasAtWhenItThrows) {
  admit(kA0);
  admit(kB0);
  trap_ = [] { throw std::runtime_error("the samples are bad"); };
  give(forward_to(kB0, 1));
  const auto work = note_->take(kB0);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->microbatch, MicrobatchId{1});
}

TEST_F(StageTest, LeavesNoNoteWhenItsMachineHasNoMemory) {
  admit(kA0);
  admit(kB0);
  trap_ = [] { throw std::bad_alloc(); };
  give(forward_to(kB0, 1));
  EXPECT_FALSE(note_->take(kB0));
  EXPECT_TRUE(sent<Backward>().empty()) << "it ended all the same";
}

}  // namespace
}  // namespace shoal::stage_test
