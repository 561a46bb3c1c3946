// Tests what a first message asks for, byte by byte, and who is counted where until a handshake is done.
#include "runtime/transport/port_protocol.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "runtime/transport/admission.h"

namespace shoal::port_protocol_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr PortProtocol kAll[] = {PortProtocol::kControl, PortProtocol::kLink, PortProtocol::kLane};

std::string extension_of(const std::string& names) {
  return std::string{static_cast<char>(names.size() >> 8), static_cast<char>(names.size())} + names;
}

std::string named(std::string_view name) { return std::string(1, static_cast<char>(name.size())) + std::string(name); }

std::optional<PortProtocol> asked(const std::string& extension) {
  return protocol_asked_for({reinterpret_cast<const unsigned char*>(extension.data()), extension.size()});
}

TEST(PortProtocol, EveryNameIsReadAsItIsPrinted) {
  for (const PortProtocol protocol : kAll) {
    EXPECT_EQ(protocol_named(protocol_name(protocol)), protocol);
    const auto list = protocol_list(protocol);
    EXPECT_EQ(asked(extension_of(std::string(list.begin(), list.end()))), protocol);
  }
  EXPECT_EQ(protocol_named("shoal"), std::nullopt);
  EXPECT_EQ(protocol_named(""), std::nullopt);
}

TEST(PortProtocol, TheFirstOfOursCountsAndOthersAskForTheControlEndpoint) {
  EXPECT_EQ(asked(extension_of(named("h2") + named("shoal-lane") + named("shoal-link"))), PortProtocol::kLane);
  EXPECT_EQ(asked(extension_of(named("h2") + named("http/1.1"))), PortProtocol::kControl);
  EXPECT_EQ(asked(extension_of("")), PortProtocol::kControl);
}

TEST(PortProtocol, AMalformedListAsksForNothing) {
  const std::string good = extension_of(named("shoal-link") + named("x"));
  ASSERT_TRUE(asked(good));
  EXPECT_EQ(asked(""), std::nullopt);
  EXPECT_EQ(asked("\1"), std::nullopt);
  EXPECT_EQ(asked(good + "x"), std::nullopt);
  for (std::size_t cut = 0; cut < good.size(); ++cut) EXPECT_EQ(asked(good.substr(0, cut)), std::nullopt) << cut;
  EXPECT_EQ(asked(extension_of(std::string(1, '\0'))), std::nullopt);
}

// The reader reads no byte beyond what it is given (the sanitizers look), and never refuses a list of good names.
TEST(PortProtocol, RandomBytesAreReadOrRefused) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 40, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 16);
    (void)asked(bytes);
    std::string names;
    std::optional<PortProtocol> first;
    for (std::uint64_t count = random() % 4; count > 0; --count) {
      const PortProtocol one = kAll[random() % 3];
      const bool is_ours = random() % 2 == 0;
      names += named(is_ours ? protocol_name(one) : "other");
      if (is_ours && !first) first = one;
    }
    ASSERT_EQ(asked(extension_of(names)), first.value_or(PortProtocol::kControl));
  }
}

constexpr AdmissionLimits kFew{
    .half_open_count_max = 3, .half_open_per_address_max = 3, .handshake_timeout = seconds(4)};
constexpr Instant kStart{};

TEST(PortAdmission, StrangersOfOneKindTakeNoPlaceOfAnother) {
  PortAdmission port(kFew);
  int next = 0;
  for (const PortProtocol protocol : {PortProtocol::kLane, PortProtocol::kLink}) {
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(port.arrived(++next, "a", kStart), std::nullopt);
      ASSERT_EQ(port.said_hello(next, protocol), std::nullopt);
    }
  }
  for (int i = 0; i < 3; ++i) ASSERT_EQ(port.arrived(++next, "a", kStart), std::nullopt);
  EXPECT_EQ(port.arrived(++next, "a", kStart), 7) << "the oldest that has said nothing";
  EXPECT_EQ(port.said_hello(next, PortProtocol::kLink), 4) << "the oldest link";
  EXPECT_EQ(port.arrived(++next, "a", kStart), std::nullopt);
  EXPECT_EQ(port.said_hello(next, PortProtocol::kLane), 1) << "the oldest lane";
  EXPECT_EQ(port.expired(kStart + seconds(4)).size(), 8U);
}

TEST(PortAdmission, WhoSaysNoWholeHelloGivesWayAndWhoSaidOneDoesNot) {
  PortAdmission port(kFew);
  ASSERT_EQ(port.arrived(1, "a", kStart), std::nullopt);
  ASSERT_EQ(port.said_hello(1, PortProtocol::kLink), std::nullopt);
  for (int i = 2; i < 100; ++i) {
    EXPECT_EQ(port.arrived(i, "a", kStart), i < 5 ? std::nullopt : std::optional(i - 3));
  }
  EXPECT_EQ(port.expired(kStart + seconds(4)).size(), 4U) << "the link that waits, and three that are silent";
}

TEST(PortAdmission, AHelloMovesNoDeadlineAndOneThatGaveWayIsForgotten) {
  PortAdmission port(kFew);
  ASSERT_EQ(port.arrived(1, "a", kStart), std::nullopt);
  ASSERT_EQ(port.said_hello(1, PortProtocol::kLink), std::nullopt);
  EXPECT_TRUE(port.expired(kStart + milliseconds(3999)).empty());
  EXPECT_EQ(port.expired(kStart + seconds(4)), std::vector<int>{1});
  port.settle(1);
  EXPECT_TRUE(port.expired(kStart + seconds(9)).empty());
  EXPECT_EQ(port.said_hello(1, PortProtocol::kLink), std::nullopt);
  EXPECT_TRUE(port.expired(kStart + seconds(9)).empty()) << "it was not recorded again";
}

}  // namespace
}  // namespace shoal::port_protocol_test
