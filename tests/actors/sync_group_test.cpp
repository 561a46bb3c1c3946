// The sync group's shell: it attaches itself, follows the journal, and its letters reach the router.
#include "actors/sync_group.h"

#include <gtest/gtest.h>

#include <caf/scheduler/test_coordinator.hpp>
#include <memory>

namespace shoal::sync_group_test {
namespace {

struct Mail {
  std::vector<Letter> letters;
  std::vector<Role> attached;
};

RouterActor::behavior_type fake_router(RouterActor::pointer, std::shared_ptr<Mail> mail) {
  return {
      [](const Inject&) {},       [mail](const Letter& letter) { mail->letters.push_back(letter); },
      [](const WireFrame&) {},    [mail](const Attach& attach) { mail->attached.push_back(attach.role); },
      [](const Detach&) {},       [](const Dialled&) {},
      [](const TensorCopied&) {}, [](const Identify&) {},
      [](const Tick&) {},         [](const Ping&) {},
      [](const LaneLetter&) {},   [](const LaneChange&) {},
      [](const LaneProgress&) {},
  };
}

class World {
 public:
  World() {
    config_.set("scheduler.policy", caf::atom("testing"));
    system = std::make_unique<caf::actor_system>(config_);
    scheduler_ = dynamic_cast<caf::scheduler::test_coordinator*>(&system->scheduler());
    scheduler_->clock().current_time += std::chrono::hours(1);
    router = system->spawn(fake_router, mail);
  }
  ~World() {
    caf::anon_send_exit(router, caf::exit_reason::kill);
    drain();
  }
  void drain() { scheduler_->run(); }
  void advance(caf::timespan duration) {
    const auto end = scheduler_->clock().current_time + duration;
    while (scheduler_->clock().has_pending_timeout() && scheduler_->clock().schedule().begin()->first <= end) {
      scheduler_->trigger_timeout();
      drain();
    }
  }
  template <class Message>
  int count() const {
    int found = 0;
    for (const Letter& letter : mail->letters) found += std::holds_alternative<Message>(letter.body) ? 1 : 0;
    return found;
  }

  std::shared_ptr<Mail> mail = std::make_shared<Mail>();
  std::unique_ptr<caf::actor_system> system;
  RouterActor router;

 private:
  caf::actor_system_config config_;
  caf::scheduler::test_coordinator* scheduler_ = nullptr;
};

TEST(SyncGroupActor, OpensPreparesAndRepeatsThroughItsRouter) {
  World world;
  const StageId stage{0};
  SyncGroupSettings settings{{RunId{1}, Term{1}, stage, Incarnation{5}, 2}, world.router};
  const SyncGroupActor group = world.system->spawn(sync_group, settings);
  world.drain();
  EXPECT_EQ(world.mail->attached, std::vector<Role>{Role::kSyncGroup});
  const AddReplica added{stage, {}, Incarnation{2}, ProcessIncarnation{3}, 0};
  caf::anon_send(group, JournalEntry{JournalPosition{1}, {}, Term{1}, added});
  caf::anon_send(group, JournalEntry{JournalPosition{2}, {}, Term{1}, AppointGroup{stage, Incarnation{5}}});
  world.drain();
  EXPECT_EQ(world.count<Open>(), 1);
  caf::anon_send(group, Delivered{AllAnswered{{}, StepId{0}}});
  world.drain();
  EXPECT_EQ(world.count<Prepare>(), 1);
  EXPECT_EQ(world.mail->letters.back().to, to_stage(ProcessIncarnation{3}, Incarnation{2}));
  world.advance(std::chrono::seconds(10));
  EXPECT_GT(world.count<Prepare>(), 1);  // by its own ticks
  caf::anon_send_exit(group, caf::exit_reason::kill);
  world.drain();
}

}  // namespace
}  // namespace shoal::sync_group_test
