// The control actor over real sockets: operators give orders, nobody else does, and each answer has its status.
#include "actors/control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "runtime/base/file.h"
#include "runtime/cluster/operate/operator_words.h"
#include "runtime/cluster/operate/save_words.h"
#include "runtime/transport/control/control_client.h"
#include "runtime/transport/control/token_words.h"
#include "tests/runtime/transport/control/control_port.h"
#include "tests/runtime/transport/control/enrolment_files.h"
#include "tests/runtime/transport/test_run.h"

namespace shoal::control_test {
namespace {

using test_support::TestRun;
using ::testing::HasSubstr;
using ::testing::Not;

// What the real one hears, most of it for nothing.
template <class Message>
auto ignores() {
  return [](const Message&) {};
}

SupervisorActor::behavior_type fake_supervisor(SupervisorActor::pointer, std::shared_ptr<std::atomic<int>> orders) {
  return {ignores<Inject>(),
          ignores<Delivered>(),
          ignores<StopRequest>(),
          ignores<LookEnded>(),
          ignores<Tick>(),
          [orders](const OperatorOrder& order) {
            ++*orders;
            if (order.name == "nobody") return OperatorAnswer{OperatorVerdict::kUnknownName, "nothing is named so"};
            if (order.name == "lost") return OperatorAnswer{OperatorVerdict::kAbsent, "lost is not there now"};
            if (order.name == "late") return OperatorAnswer{OperatorVerdict::kRefused, "the run is over"};
            return OperatorAnswer{OperatorVerdict::kDone, order.name + " is " + deed_of(order.how, order.freeze_ms)};
          },
          [](const SaveRequest& request) {
            if (request.reason == "late") return SaveAnswer{OperatorVerdict::kRefused, {}, {}, "the run is over"};
            const SaveStage stage = request.goal ? SaveStage::kSaved : SaveStage::kOrdered;
            return SaveAnswer{OperatorVerdict::kDone, {4, Branch{1}}, stage, "a sentence"};
          },
          [](const StatusQuery&) { return StatusReport{}; }};
}

class Control : public ::testing::Test {
 protected:
  Control() {
    const std::vector<PeerRole> peers = {PeerRole::kNode, PeerRole::kStorage, PeerRole::kOperator};
    ControlSettings settings;
    endpoint = std::make_unique<test_support::ControlPort>(run.files(PeerRole::kSpawner, "spawner"), run.policy(peers));
    settings.server = endpoint->server();
    settings.supervisor = system.spawn(fake_supervisor, orders);
    EnrolmentHooks hooks;
    hooks.rendezvous = [] { return Rendezvous{}; };
    hooks.name_allowed = [](const std::string&) { return Status(Done{}); };
    hooks.now = [this] { return std::chrono::system_clock::now() + std::chrono::hours(hours_later.load()); };
    hooks.revoked = revoked;
    service = std::move(
        EnrolmentService::open(run.authority(), test_support::enrolment_files(run), std::move(hooks)).value());
    settings.service = service;
    port = endpoint->port();
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
  [[nodiscard]] ControlClient person() const {
    return ControlClient::create(run.files(PeerRole::kOperator, "someone"), {"127.0.0.1", port}).value();
  }
  [[nodiscard]] Result<ControlResponse> evict(const std::string& name, bool revoke) const {
    return person().post(std::string(kEvictPath),
                         evict_text({OperatorVerb::kEvict, name, InjectKind::kExit, 0, "a test", revoke}));
  }
  [[nodiscard]] Result<Enrolled> enrol_as(const std::string& name, const JoinToken& token) const {
    return enrol({"127.0.0.1", port}, token, name, 0);
  }
  [[nodiscard]] std::vector<TokenLine> tokens() const {
    return parse_tokens(person().get(std::string(kTokensPath))->body).value();
  }
  static std::string order(const std::string& name) {
    return kill_text({OperatorVerb::kKill, name, InjectKind::kKill, 0, "a test"});
  }

  TestRun run{0x5eed};
  std::atomic<int> hours_later = 0;
  caf::actor_system_config config;
  caf::actor_system system{config};
  std::shared_ptr<RevokedCertificates> revoked = std::make_shared<RevokedCertificates>();
  std::shared_ptr<EnrolmentService> service;
  std::shared_ptr<std::atomic<int>> orders = std::make_shared<std::atomic<int>>(0);
  std::unique_ptr<test_support::ControlPort> endpoint;
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

TEST_F(Control, ACheckpointIsAskedForAndAskedAfter) {
  const auto save = [this](const SaveRequest& request) {
    return person().post(std::string(kCheckpointPath), save_request_text(request));
  };
  const auto ordered = parse_save_answer(save({"a test", std::nullopt})->body);
  ASSERT_TRUE(ordered.ok()) << ordered.failure().message;
  EXPECT_EQ(ordered->stage, SaveStage::kOrdered);
  EXPECT_EQ(parse_save_answer(save({"a test", ordered->goal})->body)->stage, SaveStage::kSaved);
  EXPECT_EQ(save({"late", std::nullopt}).failure().error, Error::kRefused);
  EXPECT_EQ(person().post(std::string(kCheckpointPath), "{}").failure().error, Error::kUsage);
  const auto node = ControlClient::create(run.files(PeerRole::kNode, "someone"), {"127.0.0.1", port});
  EXPECT_EQ(node->post(std::string(kCheckpointPath), save_request_text({"a test", {}})).failure().error,
            Error::kRefused);
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
  ASSERT_TRUE(test_support::eventually([&] { return read_file(path).ok(); }));
  const std::string first = read_file(path).value();
  hours_later = 13;
  caf::anon_send(actor, Tick{});
  EXPECT_TRUE(test_support::eventually([&] { return read_file(path).value() != first; }));
}

TEST_F(Control, AnEvictionAloneIsTheSupervisorsBusiness) {
  const auto answer = evict("node2", false);
  ASSERT_TRUE(answer.ok()) << answer.failure().message;
  EXPECT_EQ(*parse_done(answer->body), "node2 is told to end");
  EXPECT_EQ(revoked->version(), 0U);
  EXPECT_EQ(evict("lost", false).failure().error, Error::kUnreachable);
}

TEST_F(Control, ARevocationTakesTheNameAndTheTokenThatItCameWith) {
  const JoinToken many = service->make_token(std::chrono::hours(1), 0).value();
  const JoinToken other = service->make_token(std::chrono::hours(1), 0).value();
  ASSERT_TRUE(enrol_as("lost", many).ok());
  ASSERT_TRUE(enrol_as("node3", other).ok());
  const auto answer = evict("lost", true);
  ASSERT_TRUE(answer.ok()) << answer.failure().message;
  EXPECT_THAT(*parse_done(answer->body), HasSubstr("lost is not there now; lost: its certificates are refused"));
  EXPECT_TRUE(revoked->refuses("lost", "any"));
  EXPECT_FALSE(revoked->refuses("node3", "any"));
  EXPECT_THAT(enrol_as("elsewhere", many).failure().message, HasSubstr("was revoked"));
  EXPECT_TRUE(enrol_as("node4", other).ok()) << "the control: a token that it never had";
}

TEST_F(Control, ANameThatNobodyHadIsNotRevoked) {
  const auto answer = evict("nobody", true);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.failure().error, Error::kUsage);
  EXPECT_EQ(revoked->version(), 0U);
}

TEST_F(Control, TokensAreMadeListedAndRevoked) {
  const auto made = person().post(std::string(kTokensPath), token_order_text({std::chrono::seconds(90), 2}));
  ASSERT_TRUE(made.ok()) << made.failure().message;
  const JoinToken token = parse_token(parse_new_token(made->body).value()).value();
  EXPECT_EQ(token.uses, 2U);
  ASSERT_TRUE(enrol_as("node1", token).ok());
  ASSERT_TRUE(test_support::eventually([&] { return tokens().size() == 2; })) << "that one, and the run's own";
  const std::string id = service->tokens().front().origin == TokenOrigin::kPerson ? service->tokens().front().id
                                                                                  : service->tokens().back().id;
  const auto all = tokens();
  const auto line = std::ranges::find(all, id, &TokenLine::id);
  ASSERT_NE(line, all.end());
  EXPECT_EQ(line->uses, 1U);
  EXPECT_EQ(line->state, "valid");
  EXPECT_FALSE(line->is_standing);
  ASSERT_TRUE(person().post(std::string(kRevokeTokenPath), token_id_text(id)).ok());
  EXPECT_THAT(enrol_as("node2", token).failure().message, HasSubstr("was revoked"));
  EXPECT_EQ(person().post(std::string(kRevokeTokenPath), token_id_text("0000")).failure().error, Error::kUsage);
}

TEST_F(Control, TheRunsOwnTokenStaysAwayOnceRevoked) {
  const std::string path = test_support::enrolment_files(run).join_token;
  ASSERT_TRUE(test_support::eventually([&] { return read_file(path).ok(); }));
  const std::string id = tokens().front().id;
  const auto answer = person().post(std::string(kRevokeTokenPath), token_id_text(id));
  ASSERT_TRUE(answer.ok()) << answer.failure().message;
  EXPECT_THAT(*parse_done(answer->body), HasSubstr("stays away"));
  EXPECT_TRUE(service->keep_standing_token().ok());
  EXPECT_FALSE(read_file(path).ok());
  permit_standing_token(path);
  EXPECT_TRUE(service->keep_standing_token().ok());
  EXPECT_TRUE(read_file(path).ok()) << "the control: a person has started the run again";
}

TEST_F(Control, S7NobodyElseAsksForTokens) {
  for (const PeerRole role : {PeerRole::kNode, PeerRole::kStorage}) {
    const auto client = ControlClient::create(run.files(role, "someone"), {"127.0.0.1", port});
    EXPECT_EQ(client->get(std::string(kTokensPath)).failure().error, Error::kRefused);
    const auto order = token_order_text({std::chrono::seconds(90), 0});
    EXPECT_EQ(client->post(std::string(kTokensPath), order).failure().error, Error::kRefused);
    const auto eviction = evict_text({OperatorVerb::kEvict, "node1", InjectKind::kExit, 0, "a test", true});
    EXPECT_EQ(client->post(std::string(kEvictPath), eviction).failure().error, Error::kRefused);
  }
  EXPECT_EQ(*orders, 0);
}

TEST(StatusJson, SaysWhatRoundsLostWhereThereAreRounds) {
  const std::string without = status_json(StatusReport{});
  EXPECT_THAT(without, Not(HasSubstr("rounds")));
  EXPECT_THAT(without, HasSubstr(R"("actors":[])"));
  EXPECT_THAT(status_json(StatusReport{}, RoundLosses{2048, 0, 3}),
              HasSubstr(R"("rounds":{"lost_tokens":2048,"approximated":3},"actors":[])"));
}

TEST(StatusJson, NamesTheBranchThatAPersonBegan) {
  EXPECT_THAT(status_json(StatusReport{}), Not(HasSubstr("begun")));
  StatusReport report;
  report.machines = {{"a", "cpu", {19'000'000'000, 0, 0, 24'000'000'000, 50'000'000, 0}, {1, 3, 0, 300, 0, 0, {}}}};
  EXPECT_THAT(status_json(report),
              HasSubstr(R"("machines":[{"name":"a","device":"cpu","gflops_per_thread":38.0,)"
                        R"("forward_ms":null,"threads":null,"memory_bytes":24000000000,"host_bytes":null,)"
                        R"("machine_id":null,)"
                        R"("up_mbit_s":50.0,"down_mbit_s":null,"utilisation":0.33333,"mfu":null,)"
                        R"("used_bytes":300,"peak_bytes":null}])"));
  report.machines[0].offer.machine = 18'446'744'073'709'551'615U;
  EXPECT_THAT(status_json(report), HasSubstr(R"("machine_id":"18446744073709551615","up)")) << "no double holds it";
  EXPECT_THAT(status_json(StatusReport{}, {}, BranchRecord{"lower", Branch{1}, 5, {}, ""}),
              HasSubstr(R"("begun":{"name":"lower","from":5},"actors":[])"));
}

}  // namespace
}  // namespace shoal::control_test
