// The control actor over real sockets: operators give orders, nobody else does, and each answer has its status.
#include "actors/control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "runtime/base/file.h"
#include "runtime/cluster/operate/operator_words.h"
#include "runtime/transport/control/control_client.h"
#include "tests/runtime/transport/test_run.h"

namespace shoal {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::TestRun;

// What the real one hears, most of it for nothing.
template <class Message>
auto ignores() {
  return [](const Message&) {};
}

SupervisorActor::behavior_type fake_supervisor(SupervisorActor::pointer, std::shared_ptr<std::atomic<int>> orders) {
  return {ignores<Inject>(),
          ignores<Join>(),
          ignores<StageReady>(),
          ignores<StageEnded>(),
          ignores<ProcessLost>(),
          ignores<Leaving>(),
          ignores<Heartbeat>(),
          ignores<Prepared>(),
          ignores<FetchJournal>(),
          ignores<CheckpointSaved>(),
          ignores<CheckpointFailed>(),
          ignores<EvaluationResult>(),
          ignores<RunEvent>(),
          ignores<PeerUnreachable>(),
          ignores<StateProgress>(),
          ignores<StateUnavailable>(),
          ignores<StopRequest>(),
          ignores<Tick>(),
          [orders](const OperatorOrder& order) {
            ++*orders;
            if (order.name == "nobody") return OperatorAnswer{OperatorVerdict::kUnknownName, "nothing is named so"};
            if (order.name == "lost") return OperatorAnswer{OperatorVerdict::kAbsent, "lost is not there now"};
            if (order.name == "late") return OperatorAnswer{OperatorVerdict::kRefused, "the run is over"};
            return OperatorAnswer{OperatorVerdict::kDone, order.name + " is " + deed_of(order.how, order.freeze_ms)};
          },
          [](const StatusQuery&) { return StatusReport{}; }};
}

class Control : public ::testing::Test {
 protected:
  Control() {
    const std::vector<PeerRole> peers = {PeerRole::kNode, PeerRole::kStorage, PeerRole::kOperator};
    ControlSettings settings;
    settings.server = std::move(
        ControlServer::listen({"127.0.0.1", 0}, run.files(PeerRole::kSpawner, "spawner"), run.policy(peers)).value());
    settings.supervisor = system.spawn(fake_supervisor, orders);
    EnrolmentHooks hooks;
    hooks.rendezvous = [] { return Rendezvous{}; };
    hooks.name_allowed = [](const std::string&) { return Status(Done{}); };
    hooks.now = [this] { return std::chrono::system_clock::now() + std::chrono::hours(hours_later.load()); };
    settings.desk = std::move(EnrolmentDesk::open(run.authority(), run.path("tokens"), std::move(hooks)).value());
    settings.join_token = run.path("join_token");
    port = settings.server->port();
    supervisor = settings.supervisor;
    actor = system.spawn<caf::detached>(control, std::move(settings));
  }
  ~Control() override {
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(supervisor, caf::exit_reason::user_shutdown);
  }
  [[nodiscard]] Result<ControlResponse> kill_as(PeerRole role, const std::string& body) const {
    const auto client = ControlClient::create(run.files(role, "someone"), {"127.0.0.1", port});
    return client->post(std::string(kKillPath), body);
  }
  static std::string order(const std::string& name) {
    return kill_text({OperatorVerb::kKill, name, InjectKind::kKill, 0, "a test"});
  }

  TestRun run{0x5eed};
  std::atomic<int> hours_later = 0;
  caf::actor_system_config config;
  caf::actor_system system{config};
  std::shared_ptr<std::atomic<int>> orders = std::make_shared<std::atomic<int>>(0);
  SupervisorActor supervisor;
  ControlActor actor;
  std::uint16_t port = 0;
};

TEST_F(Control, AnOperatorsOrderIsAnsweredByWhatWasDone) {
  const auto answer = kill_as(PeerRole::kOperator, order("stage/1/0"));
  ASSERT_TRUE(answer.ok()) << answer.failure().message;
  EXPECT_EQ(*parse_done(answer->body), "stage/1/0 is killed");
}

TEST_F(Control, S7NobodyElseGivesOrders) {
  for (const PeerRole role : {PeerRole::kNode, PeerRole::kStorage}) {
    const auto answer = kill_as(role, order("stage/1/0"));
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.failure().error, Error::kRefused);
  }
  EXPECT_EQ(*orders, 0);
}

TEST_F(Control, RefusalsSayWhyAndWhatKind) {
  const auto unknown = kill_as(PeerRole::kOperator, order("nobody"));
  EXPECT_EQ(unknown.failure().error, Error::kUsage);
  EXPECT_THAT(unknown.failure().message, HasSubstr("nothing is named so"));
  EXPECT_EQ(kill_as(PeerRole::kOperator, order("late")).failure().error, Error::kRefused);
  const auto lost = kill_as(PeerRole::kOperator, order("lost"));
  EXPECT_EQ(lost.failure().error, Error::kUnreachable);
  EXPECT_THAT(lost.failure().message, HasSubstr("lost is not there now"));
  const auto damaged = kill_as(PeerRole::kOperator, "{}");
  EXPECT_EQ(damaged.failure().error, Error::kUsage);
  EXPECT_THAT(damaged.failure().message, HasSubstr("'name'"));
  EXPECT_EQ(*orders, 3);
}

TEST_F(Control, KeepsTheJoinTokenGoodWhileItLives) {
  const std::string path = run.path("join_token");
  ASSERT_TRUE(testing::eventually([&] { return read_file(path).ok(); }));
  const std::string first = read_file(path).value();
  hours_later = 13;
  caf::anon_send(actor, Tick{});
  EXPECT_TRUE(testing::eventually([&] { return read_file(path).value() != first; }));
}

TEST(StatusJson, SaysWhatRoundsLostWhereThereAreRounds) {
  const std::string without = status_json(StatusReport{});
  EXPECT_THAT(without, Not(HasSubstr("rounds")));
  EXPECT_THAT(without, HasSubstr(R"("actors":[])"));
  EXPECT_THAT(status_json(StatusReport{}, RoundLosses{2048, 0, 3}),
              HasSubstr(R"("rounds":{"lost_tokens":2048,"approximated":3},"actors":[])"));
}

}  // namespace
}  // namespace shoal
