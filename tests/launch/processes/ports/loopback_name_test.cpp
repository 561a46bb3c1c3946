// Debian's name of the machine is warned of; what says that it is this machine alone, and what others reach, is not.
#include "launch/processes/ports/loopback_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::loopback_name_test {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kMachine = {"127.0.0.1", "10.0.0.5", "::1"};

TEST(LoopbackName, OfTheMachineIsNamedWithItsAddressAndAnotherOne) {
  const std::string told = loopback_warning({"node7", 7000}, {"127.0.1.1"}, kMachine);
  EXPECT_THAT(told, testing::StartsWith("--listen node7:7000: node7 is 127.0.1.1 here (see /etc/hosts), which no other "
                                        "machine reaches"));
  EXPECT_THAT(told, HasSubstr("such as 10.0.0.5:7000, or 0.0.0.0:7000"));
  EXPECT_THAT(loopback_warning({"node7", 7000}, {"::1", "10.0.0.5"}, kMachine), HasSubstr("node7 is ::1"))
      << "the first is where it listens";
  EXPECT_THAT(loopback_warning({"localhosting", 7000}, {"127.0.0.2"}, {"127.0.0.1"}),
              HasSubstr("that the others reach, or 0.0.0.0:7000"))
      << "a machine without another address";
}

TEST(LoopbackName, IsNoneWhereItIsMeantOrOthersReachIt) {
  for (const char* host : {"localhost", "LocalHost", "localhost.", "localhost.localdomain", "a.localhost",
                           "ip6-localhost", "127.0.0.1", "127.1"}) {
    EXPECT_EQ(loopback_warning({host, 7000}, {"127.0.0.1"}, kMachine), "") << host;
  }
  EXPECT_EQ(loopback_warning({"::1", 7000}, {"::1"}, kMachine), "");
  EXPECT_EQ(loopback_warning({"node7", 7000}, {"10.0.0.5", "127.0.1.1"}, kMachine), "");
  EXPECT_EQ(loopback_warning({"", 7000}, {"0.0.0.0", "::"}, kMachine), "");
  EXPECT_EQ(loopback_warning({"node7", 7000}, {}, kMachine), "") << "that it is unknown is said by who listens";
}

TEST(LoopbackName, IsResolvedAsAListenerDoes) {
  EXPECT_THAT(addresses_of("127.0.0.3"), testing::ElementsAre("127.0.0.3"));
  EXPECT_THAT(addresses_of_this_machine(), testing::Contains("127.0.0.1"));
  EXPECT_TRUE(addresses_of("no name of a machine").empty());
  EXPECT_EQ(loopback_warning({"127.0.0.3", 7000}), "");
}

}  // namespace
}  // namespace shoal::loopback_name_test
