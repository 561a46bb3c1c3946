// The control endpoint and its clients over real sockets: enrolment, roles, and what strangers can do (nothing, S-7).
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "messages/cause.h"
#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/transport/control/clock_check.h"
#include "runtime/transport/control/control_client.h"
#include "runtime/transport/control/enrolment.h"
#include "runtime/transport/tls_socket.h"
#include "tests/runtime/transport/control/control_port.h"
#include "tests/runtime/transport/control/enrolment_files.h"
#include "tests/runtime/transport/stranger.h"
#include "tests/runtime/transport/test_run.h"

namespace shoal::control_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using test_support::eventually;
using test_support::kPatience;
using test_support::TestRun;

constexpr std::uint32_t kVersion = 3;

constexpr milliseconds kShort{2'000};  // honest peers of these tests must keep it, too

ControlLimits quick_limits() {
  ControlLimits limits;
  limits.admission.half_open_count_max = 16;
  limits.admission.half_open_per_address_max = 12;
  limits.admission.handshake_timeout = kShort;
  limits.request_timeout = kShort;
  return limits;
}

class ControlEndpoint : public ::testing::Test {
 protected:
  ControlEndpoint() {
    const EnrolmentHooks hooks{
        .rendezvous =
            [] {
              return Rendezvous{RunId{0x5eed}, Term{4}, kVersion};
            },
        .name_allowed =
            [](const std::string& name) {
              return name == "taken" ? Status(fail(Error::kRefused, "The name taken is in use by a live node."))
                                     : Status(Done{});
            },
        .now = [this] { return std::chrono::system_clock::now() + hours(hours_later.load()); }};
    service = std::move(EnrolmentService::open(run.authority(), test_support::enrolment_files(run), hooks).value());
    server->handle({"POST", std::string(kEnrolPath), {}},
                   [this](const auto& request) { return service->enrol(request); });
    server->handle({"GET", "/v1/status", {PeerRole::kOperator}}, [this](const ControlRequest& request) {
      ++status_asked;
      return ControlResponse{200, compose("{\"asked_by\":\"", request.peer->name, "\"}")};
    });
    server->handle({"GET", std::string(kRendezvousPath), {PeerRole::kNode, PeerRole::kOperator}},
                   [](const ControlRequest&) {
                     return ControlResponse{200, rendezvous_text({RunId{0x5eed}, Term{4}, kVersion})};
                   });
    server->handle({"POST", "/v1/throw", {PeerRole::kOperator}},
                   [](const ControlRequest&) -> ControlResponse { throw std::runtime_error("broken handler"); });
    server->serve();
  }

  [[nodiscard]] HostPort address() const { return {"127.0.0.1", port.port()}; }
  [[nodiscard]] ControlClient client(PeerRole role, const std::string& name) const {
    return ControlClient::create(run.files(role, name), address()).value();
  }
  [[nodiscard]] Result<Enrolled> enrol_with(const JoinToken& token, const std::string& name = "node1") const {
    return enrol(address(), token, name, kVersion);
  }
  void expect_refused(const Result<Enrolled>& enrolled, const std::string& why) {
    ASSERT_FALSE(enrolled.ok());
    EXPECT_EQ(enrolled.failure().error, Error::kRefused) << enrolled.failure().message;
    EXPECT_NE(enrolled.failure().message.find(why), std::string::npos) << enrolled.failure().message;
  }

  TestRun run{0x5eed};
  std::atomic<int> hours_later = 0;
  std::atomic<int> status_asked = 0;
  std::unique_ptr<EnrolmentService> service;
  test_support::ControlPort port{
      run.files(PeerRole::kSpawner, "spawner"),
      run.policy({PeerRole::kSpawner, PeerRole::kNode, PeerRole::kStorage, PeerRole::kOperator}), quick_limits()};
  std::shared_ptr<ControlServer> server = port.server();
};

TEST_F(ControlEndpoint, AJoinTokenBecomesACertificateThatWorks) {
  const auto token = parse_token(token_text(service->make_token(hours(24), 0).value()));
  ASSERT_TRUE(token.ok());
  const auto enrolled = enrol_with(*token);
  ASSERT_TRUE(enrolled.ok()) << enrolled.failure().message;
  EXPECT_EQ(identity_of(enrolled->credentials.certificate).value(),
            (PeerIdentity{run.run(), PeerRole::kNode, "node1"}));
  EXPECT_EQ(enrolled->rendezvous.term, Term{4});

  const TlsFiles files = credential_files(run.path("joined"), "node");
  ASSERT_TRUE(write_credentials(files, enrolled->credentials).ok());
  const auto rendezvous = ControlClient::create(files, address())->rendezvous();
  ASSERT_TRUE(rendezvous.ok()) << rendezvous.failure().message;
  EXPECT_EQ(rendezvous->term, Term{4});
}

TEST_F(ControlEndpoint, RefusesBadTokensEachWithItsReason) {
  const JoinToken good = service->make_token(hours(24), 0).value();
  JoinToken wrong = good;
  wrong.secret[3] ^= 1;
  expect_refused(enrol_with(wrong), "secret is wrong");

  const JoinToken once = service->make_token(hours(24), 1).value();
  EXPECT_TRUE(enrol_with(once).ok());
  expect_refused(enrol_with(once), "used as often");

  const JoinToken revoked = service->make_token(hours(24), 0).value();
  ASSERT_TRUE(service->revoke_token(service->tokens().back().id).ok());
  expect_refused(enrol_with(revoked), "revoked");

  EXPECT_TRUE(enrol_with(good).ok());
  hours_later = 24;
  expect_refused(enrol_with(good), "expired");
}

// A node's keeper may be started again on any day of a run, and has the token's file and nothing else.
TEST_F(ControlEndpoint, AStandingTokenIsGoodOnEveryDayOfALongRun) {
  const std::string path = test_support::enrolment_files(run).join_token;
  const auto token_in_file = [&] {
    const std::string text = read_file(path).value();
    return parse_token(text.substr(0, text.find('\n'))).value();
  };
  ASSERT_TRUE(service->keep_standing_token().ok());
  const JoinToken first = token_in_file();
  for (int hour = 0; hour < 24 * 30; ++hour) {
    hours_later = hour;
    ASSERT_TRUE(service->keep_standing_token().ok());
    EXPECT_EQ(first.secret == token_in_file().secret, hour < 12) << "it is renewed at half of its life, hour " << hour;
    if (hour % 36 != 0) continue;
    EXPECT_TRUE(enrol_with(token_in_file()).ok()) << "hour " << hour;
  }
  expect_refused(enrol_with(first), "secret is wrong");
  EXPECT_LE(service->tokens().size(), 24U) << "expired ones are forgotten";
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

// Counts the lines of the log that speak of a refusal, while it lives.
struct RefusalLines {
  std::atomic<int> count = 0;

  RefusalLines() {
    const auto look = [this](std::string_view line) {
      count += line.find("refused") == std::string_view::npos ? 0 : 1;
    };
    EXPECT_TRUE(open_log({.file = {}, .tap = look}).ok());
  }
  ~RefusalLines() { EXPECT_TRUE(open_log({}).ok()); }
  RefusalLines(const RefusalLines&) = delete;
  RefusalLines& operator=(const RefusalLines&) = delete;
};

TEST_F(ControlEndpoint, S6AStrangerDoesNotFillTheLogWithItsRefusals) {
  JoinToken wrong = service->make_token(hours(24), 0).value();
  const JoinToken old = service->make_token(hours(24), 0).value();
  ASSERT_TRUE(service->revoke_name("out").ok());
  wrong.secret[3] ^= 1;
  const RefusalLines lines;
  for (const auto& request :
       {EnrolmentRequest{wrong.secret, "any", "", kVersion}, EnrolmentRequest{old.secret, "out", "", kVersion}}) {
    ControlRequest asked;
    asked.body = enrolment_request_text(request);
    for (int i = 0; i < 100; ++i) {
      const ControlResponse refusal = service->enrol(asked);
      ASSERT_EQ(refusal.status, 403) << refusal.body;
    }
  }
  EXPECT_GE(lines.count, 1);
  EXPECT_LE(lines.count, 3 * static_cast<int>(RefusalLog::kLinesPerWindow)) << "of two hundred, in seconds";
}

TEST_F(ControlEndpoint, RefusesATakenNameAndAnotherVersionWithoutSpendingTheToken) {
  const JoinToken token = service->make_token(hours(24), 1).value();
  expect_refused(enrol_with(token, "taken"), "in use");
  expect_refused(enrol(address(), token, "node1", kVersion + 1), "protocol version");
  const auto bad_name = enrol_with(token, "no spaces");
  ASSERT_FALSE(bad_name.ok());
  EXPECT_EQ(bad_name.failure().error, Error::kUsage);
  EXPECT_TRUE(enrol_with(token).ok());
}

TEST_F(ControlEndpoint, TokensOutliveTheService) {
  const JoinToken once = service->make_token(hours(24), 1).value();
  EXPECT_TRUE(enrol_with(once).ok());
  auto ledger = load_tokens(test_support::enrolment_files(run).tokens);
  ASSERT_TRUE(ledger.ok());
  EXPECT_EQ(ledger->verify(once.secret, std::chrono::system_clock::now()), TokenVerdict::kUsedUp);
}

// A node asks again after it, as when nobody answers; a token of any number of uses is good all the same.
TEST_F(ControlEndpoint, ADiskThatRefusesTheTokenListEndsNoNode) {
  const JoinToken once = service->make_token(hours(24), 1).value();
  const JoinToken many = service->make_token(hours(24), 0).value();
  const std::string path = test_support::enrolment_files(run).tokens;
  std::filesystem::remove(path);
  std::filesystem::create_directories(path + "/in/the/way");
  const auto refused = enrol_with(once);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kUnreachable) << refused.failure().message;
  EXPECT_TRUE(enrol_with(many).ok());
  std::filesystem::remove_all(path);
  EXPECT_TRUE(enrol_with(once, "node2").ok()) << "its use was not spent";
}

TEST_F(ControlEndpoint, ANewcomerSaysNothingToAnImpostor) {
  const TestRun foreign(0x5eed);
  test_support::ControlPort impostor(foreign.files(PeerRole::kSpawner, "spawner"), foreign.policy({PeerRole::kNode}));
  std::atomic<int> heard = 0;
  impostor.server()->handle({"POST", std::string(kEnrolPath), {}}, [&](const ControlRequest&) {
    ++heard;
    return ControlResponse{};
  });
  impostor.server()->serve();
  const JoinToken token = service->make_token(hours(24), 0).value();
  expect_refused(enrol({"127.0.0.1", impostor.port()}, token, "node1", kVersion), "authority differs");
  EXPECT_EQ(heard, 0);
}

TEST_F(ControlEndpoint, ANodeCannotPlayTheSpawnerToANewcomer) {
  test_support::ControlPort impostor(run.files(PeerRole::kNode, "node7"), run.policy({PeerRole::kNode}));
  impostor.server()->serve();
  const JoinToken token = service->make_token(hours(24), 0).value();
  expect_refused(enrol({"127.0.0.1", impostor.port()}, token, "node1", kVersion), "role node");
}

TEST_F(ControlEndpoint, OperatorsAskAndNodesMayNot) {
  const auto answer = client(PeerRole::kOperator, "me").get("/v1/status");
  ASSERT_TRUE(answer.ok()) << answer.failure().message;
  EXPECT_EQ(answer->body, "{\"asked_by\":\"me\"}");
  const auto refused = client(PeerRole::kNode, "node1").get("/v1/status");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kRefused);
  EXPECT_EQ(status_asked, 1);
}

TEST_F(ControlEndpoint, StrangersReachNothingButEnrolment) {
  const auto context = TlsContext::newcomer();
  for (const char* target : {"/v1/status", "/v1/rendezvous", "/v1/nothing", "/v1/throw"}) {
    auto tls = TlsSocket::connect(test_support::connect_raw(port.port()), **context, deadline_in(kPatience));
    ASSERT_TRUE(tls.ok()) << tls.failure().message;
    ASSERT_TRUE(tls->write_all(request_text("GET", target, "x", ""), deadline_in(kPatience)).ok());
    char buffer[4096];
    const auto count = tls->read_some(buffer, sizeof buffer, deadline_in(kPatience));
    ASSERT_TRUE(count.ok()) << count.failure().message;
    EXPECT_TRUE(std::string_view(buffer, *count).starts_with("HTTP/1.1 403 ")) << target;
  }
  EXPECT_EQ(status_asked, 0);
}

// The other protocols of the port demand a certificate, whatever the session names.
TEST_F(ControlEndpoint, S7ASessionWithoutCertificateReachesEnrolmentOnly) {
  for (const auto protocol : {PortProtocol::kLink, PortProtocol::kLane}) {
    EXPECT_EQ(test_support::knock(port.port(), {.protocol = protocol}, kPatience), test_support::Outcome::kClosed);
    const auto known = run.files(PeerRole::kNode, "known");
    const bool speaks_first = protocol == PortProtocol::kLink;
    const auto control = test_support::knock(port.port(), {&known, 0, protocol}, milliseconds(300));
    EXPECT_EQ(control, speaks_first ? test_support::Outcome::kSpokeToUs : test_support::Outcome::kWaits)
        << "the control";
  }
  const auto unnamed = test_support::knock(port.port(), {.protocol = std::nullopt}, milliseconds(300));
  EXPECT_EQ(unnamed, test_support::Outcome::kWaits) << "who names nothing may ask the control endpoint";
  EXPECT_EQ(status_asked, 0);
}

TEST_F(ControlEndpoint, RefusesForeignExpiredAndRevokedCertificates) {
  const TestRun foreign(0x5eed);
  // Both sides refuse: a foreign client our server, and, when it looks away, our server that client.
  const auto client_refuses =
      ControlClient::create(foreign.files(PeerRole::kOperator, "spy"), address())->get("/v1/status");
  ASSERT_FALSE(client_refuses.ok());
  EXPECT_EQ(client_refuses.failure().error, Error::kRefused) << client_refuses.failure().message;
  const TlsFiles spy = foreign.files(PeerRole::kOperator, "spy");
  const std::string request = request_text("GET", "/v1/status", "x", "");
  EXPECT_NE(test_support::knock_and_say(port.port(), {&spy}, request, milliseconds(2000)),
            test_support::Outcome::kSpokeToUs);

  const WallTime now = std::chrono::system_clock::now();
  const TlsFiles expired = run.files(PeerRole::kOperator, "expired", {now - hours(48), now - hours(1)});
  const auto too_old = ControlClient::create(expired, address())->get("/v1/status");
  ASSERT_FALSE(too_old.ok());
  EXPECT_EQ(too_old.failure().error, Error::kRefused) << too_old.failure().message;
  EXPECT_EQ(status_asked, 0);
}

TEST_F(ControlEndpoint, BadRequestsAreNamed) {
  const ControlClient me = client(PeerRole::kOperator, "me");
  EXPECT_EQ(me.get("/v1/nothing").failure().error, Error::kUsage);
  EXPECT_EQ(me.post("/v1/status", "").failure().error, Error::kUsage);
  EXPECT_EQ(me.get("/v1/status?x=%zz").failure().error, Error::kUsage);
  const auto thrown = me.post("/v1/throw", "{}");
  EXPECT_EQ(thrown.failure().error, Error::kInternal);
  EXPECT_NE(thrown.failure().message.find("broken handler"), std::string::npos);
  const auto large = me.post("/v1/throw", std::string(1 << 20, 'x'));
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.failure().error, Error::kUsage) << large.failure().message;
  EXPECT_TRUE(me.get("/v1/status").ok());
}

TEST_F(ControlEndpoint, NobodyThereIsNamedAlsoWhileThePortListens) {
  const ControlClient me = client(PeerRole::kOperator, "me");
  server.reset();
  port.end_server();
  const auto connection = me.connect();
  ASSERT_FALSE(connection.ok()) << "nothing was asked: whoever waits for it may ask again";
  EXPECT_EQ(connection.failure().error, Error::kUnreachable) << connection.failure().message;
  EXPECT_NE(connection.failure().message.find(host_port_text(address())), std::string::npos);
}

// These end in the port's own table; those that ask for the endpoint and then say nothing are of strangers_test.cpp.
TEST_F(ControlEndpoint, IdleConnectionsAreBoundedEndAndHarmNobody) {
  const ControlClient me = client(PeerRole::kOperator, "me");
  std::vector<Socket> idle;
  for (int i = 0; i < 6; ++i) idle.push_back(test_support::connect_raw(port.port()));
  EXPECT_TRUE(me.get("/v1/status").ok());
  for (int i = 0; i < 100; ++i) idle.push_back(test_support::connect_raw(port.port()));
  for (const Socket& socket : idle) EXPECT_TRUE(test_support::is_closed_within(socket, kPatience));
  EXPECT_TRUE(eventually([&] { return port.refused_count() >= 106; }));
  EXPECT_TRUE(eventually([&] { return me.get("/v1/status").ok(); }));
}

// The connections come from the address of the commands, too, and last: each command meets a full door once more.
TEST_F(ControlEndpoint, TwoThousandIdleConnectionsKeepNoCommandOut) {
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  if (files.rlim_max < 8192) GTEST_SKIP() << "no more than " << files.rlim_max << " open files are allowed";
  rlimit more = files;
  more.rlim_cur = 8192;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &more), 0);
  const JoinToken token = service->make_token(hours(24), 0).value();
  const ControlClient me = client(PeerRole::kOperator, "me");
  const ControlClient node = client(PeerRole::kNode, "node1");
  std::vector<Socket> idle;
  for (int i = 0; i < 2000; ++i) idle.push_back(test_support::connect_raw(port.port()));
  for (int i = 0; i < 20; ++i) {
    for (int k = 0; k < 20; ++k) idle.push_back(test_support::connect_raw(port.port()));
    const auto answer = me.get("/v1/status");
    EXPECT_TRUE(answer.ok()) << answer.failure().message;
    EXPECT_TRUE(node.rendezvous().ok());
  }
  EXPECT_TRUE(enrol_with(token, "newcomer").ok());
  idle.clear();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
}

TEST_F(ControlEndpoint, ADribblingRequestEndsAtItsDeadline) {
  const auto context = TlsContext::newcomer();
  auto tls = TlsSocket::connect(test_support::connect_raw(port.port()), **context, deadline_in(kPatience));
  ASSERT_TRUE(tls.ok()) << tls.failure().message;
  bool was_closed = false;
  for (const Deadline end = deadline_in(kPatience); !was_closed && std::chrono::steady_clock::now() < end;) {
    char byte = 0;
    const bool is_written = tls->write_all("P", deadline_in(kPatience)).ok();
    const auto answer = tls->read_some(&byte, 1, deadline_in(milliseconds(20)));
    was_closed = !is_written || (answer.ok() && *answer == 0) ||
                 (!answer.ok() && wait_readable(tls->descriptor(), deadline_in(milliseconds(0))));
  }
  EXPECT_TRUE(was_closed);
}

// The spawner's clock is right here; ours is what the test says.
TEST_F(ControlEndpoint, ARefusalForTimesSaysWhoseClockIsToBeLookedAt) {
  const auto now = std::chrono::system_clock::now();
  const TlsFiles mine = run.files(PeerRole::kNode, "mine", {now - hours(24), now + hours(24 * 365)});
  const Failure refused = fail(Error::kRefused, "refused");
  for (const auto wrong : {now - hours(49), now + hours(24 * 400)}) {
    const Failure explained = explain_times(refused, mine, address(), wrong);
    EXPECT_EQ(explained.error, Error::kUnreachable) << "it is tried again: " << explained.message;
    EXPECT_NE(explained.message.find("look at the clock of this machine"), std::string::npos) << explained.message;
  }
  const Failure newcomer =
      explain_times(refused, credential_files(run.path("nothing"), "node"), address(), WallTime(-hours(1)));
  EXPECT_EQ(newcomer.error, Error::kUnreachable) << newcomer.message;
  EXPECT_NE(newcomer.message.find("the spawner's certificate"), std::string::npos) << newcomer.message;

  const auto unchanged = explain_times(refused, mine, address(), now);
  EXPECT_EQ(unchanged.message, refused.message) << "no clock is wrong";
  EXPECT_EQ(unchanged.error, Error::kRefused);
  const TlsFiles expired = run.files(PeerRole::kNode, "expired", {now - hours(48), now - hours(1)});
  const Failure over = explain_times(refused, expired, address(), now);
  EXPECT_EQ(over.error, Error::kRefused);
  EXPECT_NE(over.message.find("it has expired"), std::string::npos) << over.message;
}

TEST_F(ControlEndpoint, ASilentSpawnerIsUnreachable) {
  const auto silent = listen_on({"127.0.0.1", 0});
  const JoinToken token = service->make_token(hours(24), 0).value();
  const ControlTimeouts brief{.connect = milliseconds(200), .answer = milliseconds(200)};
  const auto enrolled = enrol({"127.0.0.1", local_port(silent->descriptor())}, token, "node1", kVersion, brief);
  ASSERT_FALSE(enrolled.ok());
  EXPECT_EQ(enrolled.failure().error, Error::kUnreachable) << enrolled.failure().message;
}

TEST_F(ControlEndpoint, StopsWithConnectionsOpen) {
  const auto context = TlsContext::newcomer();
  std::vector<TlsSocket> idle;
  for (int i = 0; i < 5; ++i) {
    auto tls = TlsSocket::connect(test_support::connect_raw(port.port()), **context, deadline_in(kPatience));
    ASSERT_TRUE(tls.ok()) << tls.failure().message;
    idle.push_back(std::move(*tls));
  }
  EXPECT_TRUE(client(PeerRole::kOperator, "me").get("/v1/status").ok());
  server->stop();
  for (TlsSocket& socket : idle) {
    char byte = 0;
    const auto count = socket.read_some(&byte, 1, deadline_in(milliseconds(0)));
    EXPECT_TRUE(!count.ok() || *count == 0) << "it is closed already";
    EXPECT_TRUE(wait_readable(socket.descriptor(), deadline_in(kPatience)));
  }
}

TEST_F(ControlEndpoint, AnswersSeveralAtOnce) {
  std::atomic<int> answered = 0;
  std::vector<std::thread> askers;
  for (int i = 0; i < 8; ++i) {
    askers.emplace_back([&, me = client(PeerRole::kOperator, "me")] {
      for (int k = 0; k < 5; ++k) answered += me.get("/v1/status").ok() ? 1 : 0;
    });
  }
  for (std::thread& asker : askers) asker.join();
  EXPECT_EQ(answered, 40);
}

TEST(ControlClient, RefusesASpawnerOfAnotherProtocol) {
  Rendezvous rendezvous{RunId{1}, Term{1}, kProtocolVersion, std::chrono::milliseconds(1)};
  EXPECT_TRUE(check_protocol(rendezvous).ok());
  rendezvous.protocol_version = kProtocolVersion + 1;
  const auto status = check_protocol(rendezvous);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.failure().error, Error::kRefused);
  EXPECT_NE(status.failure().message.find(std::to_string(kProtocolVersion + 1)), std::string::npos);
}

}  // namespace
}  // namespace shoal::control_test
