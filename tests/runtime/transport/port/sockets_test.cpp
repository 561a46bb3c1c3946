// Tests what a person is told whose address to listen at is not to be had.
#include "runtime/transport/sockets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::sockets_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string why_not(const HostPort& address) {
  const auto listener = listen_on(address);
  EXPECT_FALSE(listener.ok());
  return listener.ok() ? std::string() : listener.failure().message;
}

TEST(Listen, AtAnAddressOfAnotherMachineNamesThoseOfThisOne) {
  // 192.0.2.0/24 is for documentation, and nobody's.
  const std::string why = why_not({"192.0.2.1", 7000});
  EXPECT_THAT(why, AllOf(HasSubstr("192.0.2.1:7000"), HasSubstr("has no address 192.0.2.1"), HasSubstr("127.0.0.1"),
                         HasSubstr("0.0.0.0 for all")));
  EXPECT_THAT(why, Not(HasSubstr("another port")));
}

TEST(Listen, AtAPortInUseSaysThatAnotherIsWanted) {
  const auto first = listen_on({"127.0.0.1", 0});
  ASSERT_TRUE(first.ok());
  const std::string why = why_not({"127.0.0.1", local_port(first->descriptor())});
  EXPECT_THAT(why, AllOf(HasSubstr("in use"), HasSubstr("Choose another port"), Not(HasSubstr("no address"))));
}

}  // namespace
}  // namespace shoal::sockets_test
