// The control endpoint before it serves: the run's own wait for it, strangers are bounded, nobody waits for ever, and
// clients that went away are not served. And the port's thread, which waits for no line of the log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "runtime/base/log.h"
#include "runtime/transport/control/control_client.h"
#include "tests/runtime/transport/control/control_port.h"
#include "tests/runtime/transport/stranger.h"
#include "tests/runtime/transport/test_run.h"
#include "tests/support/guest/first_bytes.h"

namespace shoal::before_serving_test {
namespace {

using guest::FirstBytes;
using std::chrono::milliseconds;
using test_support::ControlPort;
using test_support::eventually;
using test_support::kPatience;
using test_support::TestRun;

constexpr std::size_t kStrangersMax = 4;

ControlLimits few_strangers() {
  ControlLimits limits;
  limits.admission.half_open_count_max = kStrangersMax;
  limits.admission.half_open_per_address_max = kStrangersMax;
  limits.admission.handshake_timeout = kPatience;
  return limits;
}

class BeforeItServes : public ::testing::Test {
 protected:
  explicit BeforeItServes(const ControlLimits& limits = few_strangers())
      : port(run.files(PeerRole::kSpawner, "spawner"), run.policy({PeerRole::kNode, PeerRole::kOperator}), limits) {
    port.server()->handle({"GET", "/v1/status", {PeerRole::kOperator}}, [this](const ControlRequest&) {
      ++asked;
      return ControlResponse{};
    });
  }
  [[nodiscard]] ControlClient person() const {
    return ControlClient::create(run.files(PeerRole::kOperator, "me"), {"127.0.0.1", port.port()}).value();
  }
  [[nodiscard]] Socket come(FirstBytes sort) const {
    Socket socket = test_support::connect_raw(port.port());
    const std::string bytes = guest::bytes_of(sort);
    ENSURE(::send(socket.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0, "a fresh connection takes it");
    return socket;
  }

  TestRun run{0x5eed};
  std::atomic<int> asked = 0;
  ControlPort port;
};

TEST_F(BeforeItServes, S6TheOldestStrangersGiveWayAndOperatorsNever) {
  std::vector<ControlConnection> people;
  std::vector<Socket> strangers;
  const auto come_once_more = [&] {
    for (std::size_t i = 0; i < 2 * kStrangersMax; ++i) strangers.push_back(come(FirstBytes::kControlHello));
    auto one = person().connect();
    ASSERT_TRUE(one.ok()) << one.failure().message;
    people.push_back(std::move(*one));
    EXPECT_TRUE(eventually([&] { return port.server()->known_count() == people.size(); }));
  };
  for (int i = 0; i < 10; ++i) come_once_more();
  const auto is_open = [](const Socket& socket) { return !test_support::is_closed_within(socket, milliseconds(0)); };
  EXPECT_TRUE(eventually([&] {
    return static_cast<std::size_t>(std::count_if(strangers.begin(), strangers.end(), is_open)) < kStrangersMax;
  })) << "one place at least was a person's for a while";
  port.server()->serve();
  for (ControlConnection& one : people) {
    const auto answer = one.get("/v1/status");
    EXPECT_TRUE(answer.ok()) << answer.failure().message;
  }
  EXPECT_EQ(asked, 10);
}

TEST_F(BeforeItServes, WhoWentAwayIsNotServed) {
  const auto context = TlsContext::mutual(run.files(PeerRole::kOperator, "hasty"), run.policy({PeerRole::kSpawner}));
  {
    auto hasty = TlsSocket::connect(test_support::connect_raw(port.port()), **context, deadline_in(kPatience));
    ASSERT_TRUE(hasty.ok()) << hasty.failure().message;
    ASSERT_TRUE(hasty->write_all(request_text("GET", "/v1/status", "x", ""), deadline_in(kPatience)).ok());
  }
  auto patient = person().connect();
  ASSERT_TRUE(patient.ok()) << patient.failure().message;
  port.server()->serve();
  EXPECT_TRUE(patient->get("/v1/status").ok());
  EXPECT_TRUE(eventually([&] { return port.refused_count() == 1; }));
  EXPECT_EQ(asked, 1);
}

TEST_F(BeforeItServes, EndsWithPeopleWaiting) {
  auto one = person().connect();
  ASSERT_TRUE(one.ok()) << one.failure().message;
  port.server()->stop();
  EXPECT_FALSE(one->get("/v1/status").ok());
}

class NeverServes : public BeforeItServes {
 protected:
  NeverServes() : BeforeItServes(hasty()) {}
  static ControlLimits hasty() {
    ControlLimits limits = few_strangers();
    limits.serve_timeout = milliseconds(50);
    return limits;
  }
};

TEST_F(NeverServes, SaysSoInTime) {
  const auto answer = person().get("/v1/status");
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.failure().error, Error::kUnreachable);
  EXPECT_THAT(answer.failure().message, ::testing::HasSubstr("is still starting"));
}

// A log whose next line takes as long as the test wants.
class SlowLog {
 public:
  SlowLog() {
    ENSURE(open_log({.file = {}, .tap = [this](std::string_view) { write(); }}).ok(), "a log on stderr needs no file");
  }
  ~SlowLog() {
    go_on();
    ENSURE(open_log({}).ok(), "a log on stderr needs no file");
  }
  SlowLog(const SlowLog&) = delete;
  SlowLog& operator=(const SlowLog&) = delete;

  [[nodiscard]] bool is_writing() {
    const std::lock_guard guard(mutex_);
    return is_writing_;
  }
  void go_on() {
    {
      const std::lock_guard guard(mutex_);
      may_go_on_ = true;
    }
    changed_.notify_all();
  }

 private:
  void write() {
    std::unique_lock lock(mutex_);
    is_writing_ = true;
    changed_.wait(lock, [this] { return may_go_on_; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_writing_ = false;
  bool may_go_on_ = false;
};

// A log on a slow disk: who is refused there waits for it, the port's thread does not.
TEST_F(BeforeItServes, ThePortWaitsForNoLineOfTheLog) {
  port.server()->serve();
  test_support::CafProcess node(run.files(PeerRole::kNode, "node1"), run.policy({PeerRole::kSpawner, PeerRole::kNode}));
  const auto speaker = node.connect(port.port());
  ASSERT_EQ(node.ask(speaker, "before"), "heard before");
  SlowLog log;
  const Socket stranger = come(FirstBytes::kControlHello);
  ASSERT_EQ(::shutdown(stranger.descriptor(), SHUT_RDWR), 0);
  ASSERT_TRUE(eventually([&] { return log.is_writing(); })) << "the stranger is refused";
  const auto answer = person().get("/v1/status");
  EXPECT_TRUE(answer.ok()) << answer.failure().message;
  EXPECT_EQ(node.ask(speaker, "meanwhile"), "heard meanwhile");
  EXPECT_TRUE(log.is_writing());
}

}  // namespace
}  // namespace shoal::before_serving_test
