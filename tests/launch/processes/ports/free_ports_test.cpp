// The ports of a keeper before it starts anything: waited for while somebody else has them, for a stated time.
#include "launch/processes/ports/free_ports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace shoal::free_ports_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Socket take_port() { return std::move(listen_on({"127.0.0.1", 0}).value()); }

HostPort at(const Socket& port) { return {"127.0.0.1", local_port(port.descriptor())}; }

struct Waited {
  Status status = Done{};
  std::string said;
  std::chrono::steady_clock::duration took{};
};

Waited wait_for(const std::vector<HostPort>& ports, std::chrono::milliseconds limit) {
  const auto begun = std::chrono::steady_clock::now();
  testing::internal::CaptureStderr();
  Waited waited;
  waited.status = wait_until_free(ports, limit);
  waited.said = testing::internal::GetCapturedStderr();
  waited.took = std::chrono::steady_clock::now() - begun;
  return waited;
}

TEST(FreePorts, AreTakenAtOnceWithoutAWord) {
  const Waited waited = wait_for({{"127.0.0.1", 0}, {"127.0.0.2", 0}}, 10s);
  EXPECT_TRUE(waited.status.ok());
  EXPECT_EQ(waited.said, "");
}

// The processes of a killed keeper hold ports so: they end a moment after it.
TEST(FreePorts, ThatAreInUseAreWaitedForAndNamedOnce) {
  Socket taken = take_port();
  Socket other = take_port();
  const std::vector<HostPort> ports = {at(taken), at(other)};
  const std::jthread lets_go([&] {
    EXPECT_FALSE(wait_readable(taken.descriptor(), std::chrono::steady_clock::now() + 500ms));
    taken = Socket();
    other = Socket();
  });
  const Waited waited = wait_for(ports, 20s);
  EXPECT_TRUE(waited.status.ok()) << waited.status.failure().message;
  EXPECT_EQ(waited.said, "shoal: " + host_port_text(ports[0]) + " is in use; trying for 20 s\n");
}

// Takes a port before which there is a free one.
Socket take_port_after_a_free_one() {
  for (;;) {
    Socket taken = take_port();
    if (!is_taken({"127.0.0.1", static_cast<std::uint16_t>(at(taken).port - 1)})) return taken;
  }
}

TEST(FreePorts, TheOneAfterTheSpawnersIsThatOfStorage) {
  const Socket taken = take_port_after_a_free_one();
  const HostPort spawner{"127.0.0.1", static_cast<std::uint16_t>(at(taken).port - 1)};
  testing::internal::CaptureStderr();
  const Status status = wait_for_ports_of_spawner(spawner, 100ms);
  const Status of_taken = wait_for_ports_of_spawner(at(taken), 100ms);
  (void)testing::internal::GetCapturedStderr();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.failure().message, HasSubstr(host_port_text(at(taken))));
  EXPECT_THAT(status.failure().message, HasSubstr("It is the port of storage"));
  ASSERT_FALSE(of_taken.ok());
  EXPECT_THAT(of_taken.failure().message, testing::Not(HasSubstr("storage"))) << "its own";
  EXPECT_TRUE(wait_for_ports_of_spawner({"127.0.0.1", 0}, 100ms).ok());
}

TEST(FreePorts, ThatSomebodyElseKeepsAreNamedAfterTheTime) {
  const Socket taken = take_port();
  const Waited waited = wait_for({{"127.0.0.1", 0}, at(taken)}, 1s);
  ASSERT_FALSE(waited.status.ok());
  EXPECT_EQ(waited.status.failure().error, Error::kUsage);
  EXPECT_THAT(waited.status.failure().message, HasSubstr("Cannot listen on " + host_port_text(at(taken)) + ": "));
  EXPECT_GE(waited.took, 1s);
}

TEST(FreePorts, AnAddressOfAnotherMachineIsNotWaitedFor) {
  const Waited waited = wait_for({{"192.0.2.1", 7100}}, 10s);
  ASSERT_FALSE(waited.status.ok());
  EXPECT_EQ(waited.said, "");
  EXPECT_LT(waited.took, 5s);
}

TEST(StorageListensAt, ThePortItWasToldOrAnyOfTheSpawnersAddresses) {
  EXPECT_EQ(storage_listens_at({{"127.0.0.1", 7000}, 1, "", HostPort{"127.0.0.1", 7001}}).value(),
            (HostPort{"127.0.0.1", 7001}));
  EXPECT_EQ(storage_listens_at({{"127.0.0.1", 7000}, 1, ""}).value(), (HostPort{"127.0.0.1", 0}));
  for (const char* every : {"0.0.0.0", "::"}) {
    EXPECT_EQ(storage_listens_at({{every, 7000}, 1, ""}).value(), (HostPort{every, 0})) << "others come from elsewhere";
  }
}

TEST(StorageOfARunThatGoesOn, TakesTheNextPortUnlessSomebodyElseHasIt) {
  const Socket taken = take_port();
  const HostPort before{"127.0.0.1", static_cast<std::uint16_t>(at(taken).port - 1)};
  EXPECT_FALSE(takes_next_port({before, 1, ""}));
  EXPECT_TRUE(takes_next_port({before, 1, "", at(taken)})) << "it had it: who has it now is named";
  EXPECT_TRUE(takes_next_port({{"127.0.0.2", before.port}, 1, ""})) << "a run of an earlier version";
  EXPECT_FALSE(takes_next_port({{"127.0.0.1", 65535}, 1, ""})) << "there is none";
}

}  // namespace
}  // namespace shoal::free_ports_test
