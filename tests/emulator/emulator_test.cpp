// The emulator with real sockets: a client, a listener, and a network between them that a test breaks.
#include "tests/emulator/emulator.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/clock.h"
#include "runtime/base/compose.h"
#include "tests/emulator/relay.h"

namespace shoal::emulator_test {
namespace {

using namespace std::chrono_literals;

constexpr auto kSoon = 10s;
constexpr auto kAWhile = 200ms;  // in which something must not happen

std::string some_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(i * 131 + i / 251);
  return bytes;
}

// Says how reading ended: with as many bytes as were asked for, an orderly end, a reset, or the deadline.
enum class Ended { kComplete, kFinished, kReset, kTooLate };

struct Received {
  std::string bytes;
  Ended how = Ended::kComplete;
};

Received receive(const Socket& socket, std::size_t count, Duration limit = kSoon) {
  const Deadline deadline = steady_now() + limit;
  Received received;
  char buffer[65536];
  while (received.bytes.size() < count) {
    if (!wait_readable(socket.descriptor(), deadline)) return received.how = Ended::kTooLate, received;
    const std::size_t wanted = std::min(sizeof buffer, count - received.bytes.size());
    const ssize_t got = ::recv(socket.descriptor(), buffer, wanted, 0);
    if (got == 0) return received.how = Ended::kFinished, received;
    if (got < 0 && errno == EAGAIN) continue;
    if (got < 0) return received.how = Ended::kReset, received;
    received.bytes.append(buffer, static_cast<std::size_t>(got));
  }
  return received;
}

// Sends as many bytes as go within the limit. Returns how many.
std::size_t send_all(const Socket& socket, std::string_view bytes, Duration limit = kSoon) {
  const Deadline deadline = steady_now() + limit;
  std::size_t sent = 0;
  while (sent < bytes.size() && wait_writable(socket.descriptor(), deadline)) {
    const ssize_t count = ::send(socket.descriptor(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN) return sent;
    if (count > 0) sent += static_cast<std::size_t>(count);
  }
  return sent;
}

class Emulator : public testing::Test {
 protected:
  Emulator() : listener_(std::move(listen_on({"127.0.0.1", 0}).value())) {}

  [[nodiscard]] HostPort target() const { return {"127.0.0.1", local_port(listener_.descriptor())}; }
  void say(const std::string& text) { ASSERT_TRUE(network_.command(text).ok()) << text; }

  // "a" dials "b": both ends of the connection.
  void connect() {
    const auto door = network_.open_door({"a", "b"}, target());
    ASSERT_TRUE(door.ok() && door->has_value());
    a_ = std::move(dial({"127.0.0.1", **door}, steady_now() + kSoon).value());
    ASSERT_TRUE(wait_readable(listener_.descriptor(), steady_now() + kSoon));
    b_ = Socket(::accept4(listener_.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    while (network_.counts("a", "b").connections == 0) ::poll(nullptr, 0, 1);  // both ends are the emulator's
  }

  // The emulator keeps `from` registered as the listener behind target().
  void register_listener() {
    const Socket channel(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, network_.environment().at("SHOAL_LINKS").c_str());
    ASSERT_EQ(::connect(channel.descriptor(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    send_all(channel, compose("listen ", ::getpid(), " 127.0.0.1 ", target().port));
    char answer[64] = {};
    ASSERT_GT(::recv(channel.descriptor(), answer, sizeof answer - 1, 0), 0);
    ASSERT_STREQ(answer, "done");
  }

  Socket listener_;
  LinkEmulator network_{1};
  Socket a_;
  Socket b_;
};

// Small pieces wait for no acknowledgement: such waits are the network's to make, and it makes none.
TEST(Relay, SendsSmallPiecesAtOnceBothWays) {
  Socket ends[] = {Socket(::socket(AF_INET, SOCK_STREAM, 0)), Socket(::socket(AF_INET, SOCK_STREAM, 0))};
  const int descriptors[] = {ends[0].descriptor(), ends[1].descriptor()};
  const Relay relay(std::move(ends[0]), std::move(ends[1]), {"a", "b"}, 1);
  for (const int descriptor : descriptors) {
    int is_on = 0;
    socklen_t size = sizeof is_on;
    ASSERT_EQ(::getsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &is_on, &size), 0);
    EXPECT_NE(is_on, 0);
  }
}

TEST_F(Emulator, PassesEveryByteBothWaysAndBothEnds) {
  connect();
  const std::string bytes = some_bytes(200'000);
  EXPECT_EQ(send_all(a_, bytes), bytes.size());
  EXPECT_EQ(receive(b_, bytes.size()).bytes, bytes);
  EXPECT_EQ(send_all(b_, bytes), bytes.size());
  ::shutdown(b_.descriptor(), SHUT_WR);
  const Received back = receive(a_, bytes.size() + 1);
  EXPECT_EQ(back.bytes, bytes);
  EXPECT_EQ(back.how, Ended::kFinished);
  EXPECT_EQ(send_all(a_, "still open"), 10U);
  EXPECT_EQ(receive(b_, 10).bytes, "still open");
  EXPECT_EQ(network_.counts("a", "b").connections, 1U);
  EXPECT_EQ(network_.counts("b", "a").bytes, bytes.size());
}

TEST_F(Emulator, PassesOnAReset) {
  connect();
  const linger at_once{1, 0};
  ::setsockopt(a_.descriptor(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  a_ = Socket();
  EXPECT_EQ(receive(b_, 1).how, Ended::kReset);
}

TEST_F(Emulator, RefusesForAListenerThatIsGone) {
  const HostPort nobody = target();
  listener_ = Socket();
  EXPECT_FALSE(network_.open_door({"a", "b"}, nobody).ok());
}

TEST_F(Emulator, DelaysBothWays) {
  connect();
  say("shape a <-> b delay_ms=60");
  const Instant before = steady_now();
  send_all(a_, "x");
  ASSERT_EQ(receive(b_, 1).bytes, "x");
  EXPECT_GE(steady_now() - before, 60ms);
  send_all(b_, "y");
  ASSERT_EQ(receive(a_, 1).bytes, "y");
  EXPECT_GE(steady_now() - before, 120ms);
}

TEST_F(Emulator, LimitsTheRate) {
  connect();
  say("shape a -> b bytes_per_s=1000000");
  const Instant before = steady_now();
  send_all(a_, some_bytes(300'000));
  EXPECT_EQ(receive(b_, 300'000).bytes.size(), 300'000U);
  EXPECT_GE(steady_now() - before, 290ms);
}

TEST_F(Emulator, ACutHoldsBytesAndEndsAndLetsNobodyDial) {
  connect();
  say("cut a <-> *");
  send_all(a_, "held");
  a_ = Socket();
  EXPECT_EQ(receive(b_, 1, kAWhile).how, Ended::kTooLate);
  const auto door = network_.open_door({"a", "b"}, target());
  ASSERT_TRUE(door.ok());
  EXPECT_FALSE(door->has_value());
  say("heal a <-> *");
  const Received all = receive(b_, 100);
  EXPECT_EQ(all.bytes, "held");
  EXPECT_EQ(all.how, Ended::kFinished);
}

TEST_F(Emulator, AOneWayCutLetsTheOtherWayPass) {
  connect();
  say("cut a -> b");
  send_all(a_, "lost");
  send_all(b_, "heard");
  EXPECT_EQ(receive(a_, 5).bytes, "heard");
  EXPECT_EQ(receive(b_, 1, kAWhile).how, Ended::kTooLate);
}

TEST_F(Emulator, ACutHealsByItself) {
  connect();
  const Instant before = steady_now();
  say("cut a <-> b for_ms=100");
  send_all(a_, "late");
  EXPECT_EQ(receive(b_, 4).bytes, "late");
  EXPECT_GE(steady_now() - before, 100ms);
}

TEST_F(Emulator, AStallIsFeltByTheSender) {
  connect();
  say("stall a -> b");
  const std::string bytes = some_bytes(std::size_t{32} << 20U);
  const std::size_t taken = send_all(a_, bytes, kAWhile);
  EXPECT_LT(taken, bytes.size());
  EXPECT_EQ(receive(b_, 1, kAWhile).how, Ended::kTooLate);
  say("heal a -> b");
  EXPECT_EQ(receive(b_, taken).bytes, bytes.substr(0, taken));
}

TEST_F(Emulator, CorruptsRepeatsAndResetsWhenTold) {
  connect();
  say("corrupt a -> b");
  const std::string bytes = some_bytes(1000);
  send_all(a_, bytes);
  const Received damaged = receive(b_, bytes.size());
  EXPECT_EQ(damaged.bytes.size(), bytes.size());
  EXPECT_TRUE(damaged.bytes != bytes);
  say("duplicate a -> b");
  send_all(a_, "abc");
  EXPECT_EQ(receive(b_, 6).bytes, "abcabc");
  EXPECT_EQ(network_.counts("*", "b").damage.corrupted, 1U);
  EXPECT_EQ(network_.counts("a", "*").damage.duplicated, 1U);
  say("reset a <-> b");
  EXPECT_EQ(receive(a_, 1).how, Ended::kReset);
  EXPECT_EQ(receive(b_, 1).how, Ended::kReset);
}

TEST_F(Emulator, RefusesWordsItDoesNotKnow) { EXPECT_FALSE(network_.command("shred a -> b").ok()); }

// A shell that opens /dev/tcp and knows nothing of the emulator.
pid_t start_dialling_shell(const LinkEmulator& network, const HostPort& target) {
  const std::string script = compose("echo hello > /dev/tcp/127.0.0.1/", target.port);
  const auto environment = network.environment();
  const pid_t child = ::fork();
  if (child != 0) return child;
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  ::execlp("bash", "bash", "-c", script.c_str(), nullptr);
  ::_exit(127);
}

TEST_F(Emulator, IsWhereAnyProgramOfItsEnvironmentDials) {
  register_listener();
  const pid_t child = start_dialling_shell(network_, target());
  ASSERT_TRUE(wait_readable(listener_.descriptor(), steady_now() + kSoon));
  const Socket arrived(::accept4(listener_.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  EXPECT_EQ(receive(arrived, 6).bytes, "hello\n");
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(network_.counts("operator", "operator").connections, 1U);
}

TEST_F(Emulator, LetsNobodyOfItsEnvironmentThroughACut) {
  register_listener();
  say("cut operator <-> *");
  const pid_t child = start_dialling_shell(network_, target());
  EXPECT_FALSE(wait_readable(listener_.descriptor(), steady_now() + 500ms));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(network_.counts("operator", "operator").connections, 0U);
}

}  // namespace
}  // namespace shoal::emulator_test
