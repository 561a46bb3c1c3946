// Networks that are declared private, and which interface of a machine is in one.
#include "runtime/base/machine/private_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::private_network_test {
namespace {

using ::testing::HasSubstr;

TEST(PrivateNetwork, ContainsWhatSharesItsBits) {
  const auto network = parse_private_network("10.1.2.0/23");
  ASSERT_TRUE(network.ok());
  EXPECT_TRUE(contains(*network, "10.1.2.1"));
  EXPECT_TRUE(contains(*network, "10.1.3.255"));
  for (const char* other : {"10.1.4.1", "10.1.1.255", "11.1.2.1", "::1", "somewhere", ""}) {
    EXPECT_FALSE(contains(*network, other)) << other;
  }
  const auto six = parse_private_network("fd00:1::/33");
  ASSERT_TRUE(six.ok());
  EXPECT_TRUE(contains(*six, "fd00:1:7fff::1"));
  EXPECT_FALSE(contains(*six, "fd00:1:8000::1"));
  EXPECT_FALSE(contains(*six, "10.1.2.1"));
}

TEST(PrivateNetwork, RefusesWhatIsNone) {
  for (const char* text : {"", "10.0.0.0", "10.0.0.0/", "10.0.0.0/0", "10.0.0.0/33", "10.0.0.0/8x", "10.0.0/8", "eth0",
                           "fd00::/129", "/8"}) {
    const auto network = parse_private_network(text);
    ASSERT_FALSE(network.ok()) << text;
    EXPECT_THAT(network.failure().message, HasSubstr("expected a network like 10.0.0.0/16"));
  }
  EXPECT_TRUE(parse_private_network("10.0.0.0/32").ok()) << "control";
}

TEST(PrivateNetwork, FindsTheInterfaceThatIsInIt) {
  const std::vector<NetworkInterface> interfaces = {
      {"lo", "127.0.0.1"}, {"eth0", "192.168.0.7"}, {"eth1", "10.1.0.7"}, {"eth1", "fd00::7"}};
  EXPECT_EQ(interface_in(*parse_private_network("10.1.0.0/16"), interfaces), "eth1");
  EXPECT_EQ(interface_in(*parse_private_network("fd00::/8"), interfaces), "eth1");
  EXPECT_EQ(interface_in(*parse_private_network("10.2.0.0/16"), interfaces), std::nullopt);
}

// A library that is told an interface takes its first address.
TEST(PrivateNetwork, TakesNoInterfaceWhoseFirstAddressIsOutside) {
  const std::vector<NetworkInterface> interfaces = {
      {"eth0", "203.0.113.5"}, {"eth0", "10.1.0.5"}, {"eth0", "fd00::5"}, {"eth1", "10.1.0.7"}};
  EXPECT_EQ(interface_in(*parse_private_network("10.1.0.0/16"), interfaces), "eth1");
  EXPECT_EQ(interface_in(*parse_private_network("fd00::/8"), interfaces), "eth0") << "its first of that version";
}

TEST(PrivateNetwork, KnowsThisMachinesLoopback) {
  const auto name = interface_in(*parse_private_network("127.0.0.0/8"), interfaces_of_this_machine());
  EXPECT_EQ(name, "lo");
}

}  // namespace
}  // namespace shoal::private_network_test
