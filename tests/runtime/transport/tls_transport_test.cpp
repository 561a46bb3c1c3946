// The data door of a process, with real sockets: who gets in, who does not, and what that does to the others (S-7).
#include "runtime/transport/tls_transport.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/resource.h>

#include <ctime>
#include <filesystem>
#include <random>

#include "runtime/base/file.h"
#include "runtime/transport/guard/frame_guard.h"
#include "runtime/transport/openssl_handles.h"
#include "runtime/transport/revocation/revoked_certificates.h"
#include "tests/runtime/transport/caf_process.h"
#include "tests/runtime/transport/stranger.h"
#include "tests/runtime/transport/test_run.h"

namespace shoal::tls_transport_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using test_support::CafProcess;
using test_support::eventually;
using test_support::kPatience;
using test_support::Outcome;
using test_support::StrangerTls;
using test_support::TestRun;

constexpr milliseconds kShortHandshake{2'000};  // honest peers of these tests must keep it, too
const std::vector<PeerRole> kDataRoles = {PeerRole::kSpawner, PeerRole::kNode, PeerRole::kStorage};

TransportLimits quick_limits() {
  TransportLimits limits;
  limits.admission.handshake_timeout = kShortHandshake;
  limits.dial_timeout = milliseconds(2000);
  return limits;
}

// A spawner that listens, and a node that is connected with it: the innocent bystanders of every attack.
class TransportDoor : public ::testing::Test {
 protected:
  TransportDoor() : node_actor(node.connect(port)) {}

  void expect_bystanders_are_well() {
    EXPECT_EQ(node.ask(node_actor, "old"), "heard old");
    const auto again =
        CafProcess(run.files(PeerRole::kNode, "late"), run.policy(kDataRoles), quick_limits()).connect(port);
    EXPECT_TRUE(again) << "a good peer is still let in";
  }
  Outcome knock_with(const TlsFiles* files, int version_max = 0) {
    return knock(port, StrangerTls{files, version_max}, kPatience);
  }

  TestRun run{0x5eed};
  CafProcess spawner{run.files(PeerRole::kSpawner, "spawner"), run.policy(kDataRoles), quick_limits()};
  CafProcess node{run.files(PeerRole::kNode, "node1"), run.policy(kDataRoles), quick_limits()};
  std::uint16_t port = spawner.publish();
  caf::strong_actor_ptr node_actor;
};

TEST_F(TransportDoor, MessagesPassBothWays) {
  EXPECT_EQ(node.ask(node_actor, "hello"), "heard hello");
  const std::uint16_t other_port = node.publish();
  CafProcess third(run.files(PeerRole::kStorage, "storage"), run.policy(kDataRoles), quick_limits());
  EXPECT_EQ(third.ask(third.connect(other_port), "bulk"), "heard bulk");
  const std::string large(1 << 20, 'x');
  EXPECT_EQ(node.ask(node_actor, large), "heard " + large);
  EXPECT_EQ(spawner.transport().counters().admitted, 1u);
}

// Only heartbeats pass after it: both sides give back what a large message needed.
TEST_F(TransportDoor, S6NeitherSideKeepsTheSizeOfALargeMessage) {
  const std::string large(1 << 20, 'x');
  EXPECT_EQ(node.ask(node_actor, large), "heard " + large);
  for (CafProcess* process : {&spawner, &node}) {
    EXPECT_TRUE(eventually([&] { return process->transport().counters().given_back >= 2 * large.size(); }));
  }
  EXPECT_EQ(node.ask(node_actor, large), "heard " + large);
}

// The router asks this of whoever says Hello.
TEST_F(TransportDoor, AConnectedProcessIsWhoItsCertificateSays) {
  const PeerIdentity node1{run.run(), PeerRole::kNode, "node1"};
  EXPECT_TRUE(eventually([&] { return spawner.transport().identity_of(node.system().node()) == node1; }));
  const PeerIdentity boss{run.run(), PeerRole::kSpawner, "spawner"};
  EXPECT_TRUE(eventually([&] { return node.transport().identity_of(spawner.system().node()) == boss; }));
  EXPECT_FALSE(spawner.transport().identity_of(caf::node_id{}));
  auto passing =
      std::make_unique<CafProcess>(run.files(PeerRole::kStorage, "s"), run.policy(kDataRoles), quick_limits());
  const caf::node_id passed = passing->system().node();
  ASSERT_TRUE(passing->connect(port));
  const PeerIdentity storage{run.run(), PeerRole::kStorage, "s"};
  EXPECT_TRUE(eventually([&] { return spawner.transport().identity_of(passed) == storage; }));
  passing.reset();
  EXPECT_TRUE(eventually([&] { return !spawner.transport().identity_of(passed); })) << "nobody after it left";
}

// A handshake of the library that names this process as its sender.
std::string handshake_as(CafProcess& named) {
  std::vector<char> payload;
  caf::binary_serializer sink{named.system(), payload};
  EXPECT_FALSE(sink(named.system().node()));
  std::string frame(FrameGuard::kHeaderBytes, '\0');
  frame[0] = 1;
  frame[7] = static_cast<char>(payload.size());
  return frame + std::string(payload.begin(), payload.end());
}

TEST_F(TransportDoor, NobodyGoesByTheNameOfAnother) {
  const TlsFiles other = run.files(PeerRole::kNode, "other");
  EXPECT_EQ(test_support::knock_and_say(port, {&other}, handshake_as(node), kPatience), Outcome::kClosed);
  EXPECT_EQ(spawner.transport().counters().bad_frames, 1u);
  EXPECT_EQ(spawner.transport().identity_of(node.system().node())->name, "node1");
  CafProcess absent(run.files(PeerRole::kNode, "other"), run.policy(kDataRoles), quick_limits());
  EXPECT_NE(test_support::knock_and_say(port, {&other}, handshake_as(absent), milliseconds(300)), Outcome::kClosed)
      << "the control: a name that nobody has";
  EXPECT_EQ(spawner.transport().counters().bad_frames, 1u);
  expect_bystanders_are_well();
}

TEST_F(TransportDoor, ALostPeerIsNoticed) {
  auto passing = std::make_unique<CafProcess>(run.files(PeerRole::kNode, "n2"), run.policy(kDataRoles), quick_limits());
  const auto actor = node.connect(passing->publish());
  ASSERT_EQ(node.ask(actor, "there"), "heard there");
  EXPECT_TRUE(node.sees_down_after(actor, [&] { passing.reset(); }));
}

TEST_F(TransportDoor, AGoodCertificateIsTheControlOfTheseTests) {
  const TlsFiles files = run.files(PeerRole::kNode, "good");
  EXPECT_EQ(knock_with(&files), Outcome::kSpokeToUs);
}

TEST_F(TransportDoor, RefusesPlaintextAndGarbage) {
  EXPECT_EQ(test_support::say_in_plaintext(port, "GET / HTTP/1.1\r\n\r\n", kPatience), Outcome::kClosed);
  const std::string huge_hello = std::string("\x16\x03\x01\x40\x00\x01\xff\xff\xff", 9) + std::string(1 << 16, 'h');
  EXPECT_EQ(test_support::say_in_plaintext(port, huge_hello, kPatience), Outcome::kClosed);
  for (int i = 0; i < 20; ++i) test_support::say_and_reset(port, "\x16\x03\x01 no more");
  expect_bystanders_are_well();
}

TEST_F(TransportDoor, RefusesOldTls) {
  const TlsFiles files = run.files(PeerRole::kNode, "old");
  EXPECT_EQ(knock_with(&files, TLS1_2_VERSION), Outcome::kClosed);
  expect_bystanders_are_well();
}

TEST_F(TransportDoor, RefusesAMissingCertificate) {
  EXPECT_EQ(knock_with(nullptr), Outcome::kClosed);
  expect_bystanders_are_well();
}

TEST_F(TransportDoor, RefusesCertificatesThatTheRunDidNotSign) {
  const TestRun foreign(0x5eed);  // the same number: only the signature differs
  const TlsFiles by_other = foreign.files(PeerRole::kNode, "node1");
  EXPECT_EQ(knock_with(&by_other), Outcome::kClosed);
  const TlsFiles by_itself = test_support::self_signed(run.path("self"), {run.run(), PeerRole::kNode, "node1"});
  EXPECT_EQ(knock_with(&by_itself), Outcome::kClosed);
  expect_bystanders_are_well();
}

TEST_F(TransportDoor, RefusesCertificatesOutOfTheirTime) {
  const WallTime now = std::chrono::system_clock::now();
  const TlsFiles expired = run.files(PeerRole::kNode, "expired", {now - hours(48), now - hours(1)});
  EXPECT_EQ(knock_with(&expired), Outcome::kClosed);
  const TlsFiles early = run.files(PeerRole::kNode, "early", {now + hours(1), now + hours(48)});
  EXPECT_EQ(knock_with(&early), Outcome::kClosed);
  expect_bystanders_are_well();
}

TEST_F(TransportDoor, RefusesTheWrongRole) {
  const TlsFiles files = run.files(PeerRole::kOperator, "boss");
  EXPECT_EQ(knock_with(&files), Outcome::kClosed);
  EXPECT_GE(spawner.transport().counters().refused, 1u);
  expect_bystanders_are_well();
}

TEST_F(TransportDoor, RefusesTheWrongRunAndTheRevoked) {
  PeerPolicy other_run{RunId{0xbad}, kDataRoles, {}};
  CafProcess strict(run.files(PeerRole::kSpawner, "strict"), other_run, quick_limits());
  const TlsFiles files = run.files(PeerRole::kNode, "n");
  EXPECT_EQ(test_support::knock(strict.publish(), {&files}, kPatience), Outcome::kClosed);

  PeerPolicy revoking = run.policy(kDataRoles);
  revoking.admit = [](const PeerIdentity& peer) { return peer.name != "evicted"; };
  CafProcess careful(run.files(PeerRole::kSpawner, "careful"), revoking, quick_limits());
  const std::uint16_t careful_port = careful.publish();
  const TlsFiles evicted = run.files(PeerRole::kNode, "evicted");
  EXPECT_EQ(test_support::knock(careful_port, {&evicted}, kPatience), Outcome::kClosed);
  EXPECT_EQ(test_support::knock(careful_port, {&files}, kPatience), Outcome::kSpokeToUs);
}

// Connections from before are ended, new ones refused, in both directions; nobody else notices.
TEST_F(TransportDoor, ARevokedCertificateIsRefusedAndItsConnectionsEnd) {
  const auto list = std::make_shared<RevokedCertificates>();
  PeerPolicy careful_policy = run.policy(kDataRoles);
  careful_policy.revoked = list;
  CafProcess careful(run.files(PeerRole::kSpawner, "careful"), careful_policy, quick_limits());
  const std::uint16_t careful_port = careful.publish();
  const TlsFiles theirs = credential_files(run.path("theirs"), "node");
  ASSERT_TRUE(write_credentials(theirs, read_credentials(run.files(PeerRole::kNode, "evicted")).value()).ok());
  const TlsFiles readmitted = run.files(PeerRole::kNode, "evicted");
  CafProcess evicted(theirs, run.policy(kDataRoles), quick_limits());
  CafProcess honest(run.files(PeerRole::kNode, "honest"), run.policy(kDataRoles), quick_limits());
  const auto of_evicted = evicted.connect(careful_port);
  const auto of_honest = honest.connect(careful_port);
  ASSERT_EQ(evicted.ask(of_evicted, "before"), "heard before");
  const auto begun = std::chrono::steady_clock::now();
  const auto revoke = [&] {
    const auto serial = serial_of(read_file(readmitted.certificate).value()).value();
    ASSERT_TRUE(list->take({1, {{"evicted", {serial}}}}, std::chrono::steady_clock::now()));
  };
  EXPECT_TRUE(evicted.sees_down_after(of_evicted, revoke));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(2));
  EXPECT_EQ(test_support::knock(careful_port, {&theirs}, kPatience), Outcome::kClosed);
  EXPECT_EQ(test_support::knock(careful_port, {&readmitted}, kPatience), Outcome::kSpokeToUs)
      << "what it was given since";
  EXPECT_FALSE(careful.connect(evicted.publish())) << "nor is it dialled";
  EXPECT_TRUE(careful.connect(honest.publish()));
  EXPECT_EQ(honest.ask(of_honest, "after"), "heard after");
}

// The door goes on listening with a certificate that was renewed; who is connected notices nothing.
TEST_F(TransportDoor, ARenewedCertificateIsShownInNewConnections) {
  const WallTime now = std::chrono::system_clock::now();
  const Validity brief{now - std::chrono::seconds(1), now + std::chrono::seconds(4)};
  const TlsFiles files = run.files(PeerRole::kSpawner, "brief", brief);
  CafProcess listening(files, run.policy(kDataRoles), quick_limits());
  const std::uint16_t listening_port = listening.publish();
  const auto old_actor = node.connect(listening_port);
  ASSERT_EQ(node.ask(old_actor, "old"), "heard old");
  const auto own = read_credentials(files).value();
  const auto is_over = [&] { return std::chrono::system_clock::now() > brief.not_after + std::chrono::seconds(1); };
  ASSERT_TRUE(eventually(is_over));
  CafProcess late(run.files(PeerRole::kNode, "late2"), run.policy(kDataRoles), quick_limits());
  EXPECT_FALSE(late.connect(listening_port)) << "the control: it has expired";
  const auto request = make_csr(own.key, "brief");
  const auto next =
      run.authority().sign(*request, {run.run(), PeerRole::kSpawner, "brief"}, usual_validity(now)).value();
  ASSERT_TRUE(listening.transport().context()->renew({own.ca, next, own.key}).ok());
  const auto new_actor = late.connect(listening_port);
  EXPECT_EQ(late.ask(new_actor, "new"), "heard new");
  EXPECT_EQ(node.ask(old_actor, "old"), "heard old");
  const auto foreign = read_credentials(run.files(PeerRole::kSpawner, "foreign")).value();
  EXPECT_FALSE(listening.transport().context()->renew({own.ca, foreign.certificate, own.key}).ok())
      << "a certificate of another key";
  EXPECT_TRUE(
      CafProcess(run.files(PeerRole::kNode, "late3"), run.policy(kDataRoles), quick_limits()).connect(listening_port));
}

// Refusal goes by name: another certificate of the same node does not help.
TEST_F(TransportDoor, RefusesWhoHasMadeItCrash) {
  PeerPolicy wary = run.policy(kDataRoles);
  wary.refused = {"node/guest"};
  CafProcess once_bitten(run.files(PeerRole::kSpawner, "wary"), wary, quick_limits());
  const std::uint16_t wary_port = once_bitten.publish();
  for (std::uint64_t knocks = 1; knocks <= 2; ++knocks) {
    const TlsFiles bad = run.files(PeerRole::kNode, "guest");
    EXPECT_EQ(test_support::knock(wary_port, {&bad}, kPatience), Outcome::kClosed);
    EXPECT_EQ(once_bitten.transport().counters().refused, knocks);
  }
  const TlsFiles other = run.files(PeerRole::kNode, "guest2");
  EXPECT_EQ(test_support::knock(wary_port, {&other}, kPatience), Outcome::kSpokeToUs);
}

TEST_F(TransportDoor, ADiallerRefusesAServerOfAnotherRun) {
  const TestRun foreign(0xf0);
  CafProcess impostor(foreign.files(PeerRole::kSpawner, "spawner"), foreign.policy(kDataRoles), quick_limits());
  EXPECT_FALSE(node.connect(impostor.publish()));
  EXPECT_EQ(impostor.transport().counters().admitted, 0u);
  expect_bystanders_are_well();
}

TEST_F(TransportDoor, AnIdleConnectionEndsAtItsDeadlineAndHarmsNobody) {
  const Socket idle = test_support::connect_raw(port);
  EXPECT_EQ(node.ask(node_actor, "meanwhile"), "heard meanwhile");
  EXPECT_TRUE(test_support::is_closed_within(idle, kPatience));
  EXPECT_TRUE(eventually([&] { return spawner.transport().counters().refused >= 1; }));
  expect_bystanders_are_well();
}

TEST_F(TransportDoor, AnIdleConnectionCostsNoProcessorTime) {
  const std::clock_t before = std::clock();
  const auto start = std::chrono::steady_clock::now();
  const Socket idle = test_support::connect_raw(port);
  ASSERT_TRUE(test_support::is_closed_within(idle, kPatience));
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
  const double computed = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  EXPECT_LT(computed, 0.5 * waited.count()) << "a busy I/O thread would make it 1";
}

TEST_F(TransportDoor, SurvivesTheLackOfDescriptors) {
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  std::vector<Socket> flood;
  flood.push_back(test_support::connect_raw(port));
  rlimit scarce = usual;
  scarce.rlim_cur = static_cast<rlim_t>(flood.back().descriptor()) + 60;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &scarce), 0);
  bool is_exhausted = false;
  for (int i = 0; i < 1000 && !is_exhausted; ++i) {
    auto socket = dial({"127.0.0.1", port}, deadline_in(kPatience));
    is_exhausted = !socket.ok();
    if (socket.ok()) flood.push_back(std::move(*socket));
  }
  EXPECT_TRUE(is_exhausted);
  EXPECT_EQ(node.ask(node_actor, "scarce"), "heard scarce");
  flood.clear();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  EXPECT_TRUE(eventually([&] { return node.ask(node_actor, "old") == "heard old"; }));
  expect_bystanders_are_well();
}

TEST_F(TransportDoor, AFloodOfIdleConnectionsIsBounded) {
  constexpr std::size_t kFlood = 300;
  std::vector<Socket> flood;
  for (std::size_t i = 0; i < kFlood; ++i) flood.push_back(test_support::connect_raw(port));
  EXPECT_EQ(node.ask(node_actor, "in the flood"), "heard in the flood");
  for (const Socket& socket : flood) EXPECT_TRUE(test_support::is_closed_within(socket, kPatience));
  EXPECT_TRUE(eventually([&] { return spawner.transport().counters().refused >= kFlood; }));
  expect_bystanders_are_well();
}

TEST_F(TransportDoor, AFloodOfIdleConnectionsKeepsNobodyOut) {
  std::vector<Socket> flood;
  for (int i = 0; i < 300; ++i) flood.push_back(test_support::connect_raw(port));
  CafProcess late(run.files(PeerRole::kNode, "late"), run.policy(kDataRoles), quick_limits());
  const auto reached = late.connect(port);
  ASSERT_TRUE(reached);
  EXPECT_EQ(late.ask(reached, "in the flood"), "heard in the flood");
  expect_bystanders_are_well();
}

TEST_F(TransportDoor, ADialIntoSilenceEnds) {
  const auto silent = listen_on({"127.0.0.1", 0});
  ASSERT_TRUE(silent.ok());
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(node.connect(local_port(silent->descriptor())));
  EXPECT_LT(std::chrono::steady_clock::now() - start, kPatience);
  EXPECT_EQ(node.ask(node_actor, "after"), "heard after");
}

TEST_F(TransportDoor, NobodyThereIsAnErrorAtOnce) {
  std::uint16_t free_port = 0;
  { free_port = local_port(listen_on({"127.0.0.1", 0})->descriptor()); }
  EXPECT_FALSE(node.connect(free_port));
}

TEST_F(TransportDoor, BadFramesOfAnAdmittedPeerEndItsConnectionOnly) {
  const TlsFiles files = run.files(PeerRole::kNode, "mad");
  const std::string empty_handshake(FrameGuard::kHeaderBytes, '\0');
  EXPECT_EQ(test_support::knock_and_say(port, {&files}, empty_handshake, kPatience), Outcome::kClosed);
  std::string endless(FrameGuard::kHeaderBytes, '\0');
  endless.replace(0, 8, std::string("\x02\x00\x00\x00\xff\xff\xff\xff", 8));
  EXPECT_EQ(test_support::knock_and_say(port, {&files}, endless, kPatience), Outcome::kClosed);
  EXPECT_EQ(spawner.transport().counters().bad_frames, 2u);
  expect_bystanders_are_well();
}

TEST_F(TransportDoor, RandomFramesOfAnAdmittedPeerHarmNobody) {
  const std::uint64_t seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  std::mt19937_64 random(seed);
  const TlsFiles files = run.files(PeerRole::kNode, "fuzz");
  for (int i = 0; i < 40; ++i) {
    std::string bytes(FrameGuard::kHeaderBytes + random() % 200, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    bytes[0] = static_cast<char>(random() % 8);
    const std::uint32_t length = static_cast<std::uint32_t>(random() % 3 == 0 ? 0 : bytes.size() - 32);
    for (unsigned k = 0; k < 4; ++k) bytes[4 + k] = static_cast<char>(length >> (8 * (3 - k)));
    const Outcome outcome = test_support::knock_and_say(port, {&files}, bytes, milliseconds(200));
    ASSERT_NE(outcome, Outcome::kSpokeToUs) << "seed " << seed << " case " << i;
    ASSERT_EQ(node.ask(node_actor, "still"), "heard still") << "seed " << seed << " case " << i;
  }
  expect_bystanders_are_well();
}

TEST_F(TransportDoor, CertificateFilesAreReadOnceAtTheStart) {
  const TlsFiles files = run.files(PeerRole::kSpawner, "spawner");
  std::filesystem::remove(files.key);
  std::filesystem::remove(files.certificate);
  std::filesystem::remove(files.ca);
  expect_bystanders_are_well();
}

TEST_F(TransportDoor, APortInUseIsNamed) {
  const auto taken = listen_on({"127.0.0.1", 0});
  ASSERT_TRUE(taken.ok());
  const auto again = listen_on({"127.0.0.1", local_port(taken->descriptor())});
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.failure().error, Error::kUsage);
  EXPECT_NE(again.failure().message.find(std::to_string(local_port(taken->descriptor()))), std::string::npos);
}

TEST_F(TransportDoor, AProcessWithoutControlEndpointSaysNothingToWhoAsksForOne) {
  const TlsFiles files = run.files(PeerRole::kNode, "n");
  EXPECT_EQ(test_support::knock(port, {&files, 0, PortProtocol::kControl}, kPatience), Outcome::kClosed);
  EXPECT_EQ(test_support::knock(port, {.protocol = std::nullopt}, kPatience), Outcome::kClosed);
  EXPECT_TRUE(eventually([&] { return spawner.transport().counters().refused == 2; }));
  expect_bystanders_are_well();
}

TEST_F(TransportDoor, ListensWhereverItIsTold) {
  for (const std::string host : {"", "0.0.0.0", "127.0.0.1", "localhost"}) {
    if (host == "localhost" && !local_address_towards({host, 9}).ok()) continue;  // a machine that knows no names
    auto listener = listen_on({host, 0});
    ASSERT_TRUE(listener.ok()) << host << ": " << listener.failure().message;
    const auto published = spawner.transport().publish(spawner.speaker(), std::move(*listener));
    ASSERT_TRUE(published.ok()) << host << ": " << published.failure().message;
    EXPECT_EQ(node.ask(node.connect(*published), host), "heard " + host);
  }
  EXPECT_FALSE(listen_on({"no-such-host.invalid", 0}).ok());
}

TEST_F(TransportDoor, AClosedPortIsOpenNoMoreAndItsConnectionsLiveOn) {
  spawner.transport().close(port);
  EXPECT_TRUE(eventually([&] { return !dial({"127.0.0.1", port}, deadline_in(kPatience)).ok(); }));
  EXPECT_EQ(node.ask(node_actor, "still here"), "heard still here");
}

TEST(LocalAddress, IsTheOneTowardsTheSpawner) {
  EXPECT_EQ(local_address_towards({"127.0.0.1", 9}).value(), "127.0.0.1");
  EXPECT_EQ(local_address_towards({"no-such-host.invalid", 9}).failure().error, Error::kUnreachable);
}

TEST(HostPort, IsReadAndWritten) {
  EXPECT_EQ(parse_host_port("10.0.0.1:7000").value(), (HostPort{"10.0.0.1", 7000}));
  EXPECT_EQ(parse_host_port("[::1]:7000").value(), (HostPort{"::1", 7000}));
  EXPECT_EQ(host_port_text({"::1", 7000}), "[::1]:7000");
  for (const char* bad :
       {"", "host", ":7", "host:", "host:x", "host:70000", "host:7 ", "[::1", "[::1]", "::1]:7", "[]:7", "*:7"}) {
    EXPECT_FALSE(parse_host_port(bad).ok()) << bad;
  }
}

TEST(HostPort, HasOnesAfterItAndANameForOthers) {
  EXPECT_EQ(with_port_after({"h", 7000}, 2).value(), (HostPort{"h", 7002}));
  EXPECT_EQ(with_port_after({"h", 0}, 2).value(), (HostPort{"h", 0})) << "any stays any";
  EXPECT_EQ(with_port_after({"h", 65534}, 1).value().port, 65535);
  EXPECT_EQ(with_port_after({"h", 65534}, 2).failure().error, Error::kUsage);
  EXPECT_EQ(reachable({"10.0.0.1", 7000}), (HostPort{"10.0.0.1", 7000}));
  for (const char* everywhere : {"0.0.0.0", "::", ""}) {
    EXPECT_TRUE(is_every_interface({everywhere, 7000}));
    EXPECT_FALSE(is_every_interface(reachable({everywhere, 7000})));
  }
}

}  // namespace
}  // namespace shoal::tls_transport_test
