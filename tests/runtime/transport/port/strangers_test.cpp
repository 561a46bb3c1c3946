// Strangers who send something to the one port and then nothing: each sort is held to the bound that is meant for it,
// the oldest give way to the newest, and honest links, lanes and operators get through beside all of them (S-6).
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <vector>

#include "runtime/transport/control/control_client.h"
#include "tests/runtime/transport/control/control_port.h"
#include "tests/runtime/transport/lanes/lane_side.h"
#include "tests/runtime/transport/stranger.h"
#include "tests/runtime/transport/test_run.h"
#include "tests/support/guest/first_bytes.h"

namespace shoal::strangers_test {
namespace {

using guest::bytes_of;
using guest::FirstBytes;
using std::chrono::milliseconds;
using test_support::eventually;
using test_support::kAccepted;
using test_support::kDialled;
using test_support::Side;
using test_support::TestRun;

constexpr std::size_t kOfAnAddress = 12;
constexpr milliseconds kLong{60'000};  // so that what ends is ended by a bound
constexpr milliseconds kShort{300};

ControlLimits limits_with(milliseconds timeout) {
  ControlLimits limits;
  limits.admission.half_open_count_max = 16;
  limits.admission.half_open_per_address_max = kOfAnAddress;
  limits.admission.handshake_timeout = timeout;
  return limits;
}

// A spawner's port, whose endpoint has one route, and whose lanes have a user.
struct Occupied {
  explicit Occupied(milliseconds timeout)
      : port(run.files(PeerRole::kSpawner, "spawner"),
             run.policy({PeerRole::kSpawner, PeerRole::kNode, PeerRole::kStorage, PeerRole::kOperator}),
             limits_with(timeout)),
        listener(port.process().system().spawn([this] { return ears.behavior(); })) {
    port.process().transport().lanes()->tell(listener);
    port.server()->handle({"GET", "/v1/status", {PeerRole::kOperator}},
                          [](const ControlRequest&) { return ControlResponse{}; });
    port.server()->serve();
  }
  ~Occupied() { caf::anon_send_exit(listener, caf::exit_reason::kill); }
  Occupied(const Occupied&) = delete;
  Occupied& operator=(const Occupied&) = delete;

  [[nodiscard]] Socket come(FirstBytes sort) const {
    Socket socket = test_support::connect_raw(port.port());
    const std::string bytes = bytes_of(sort);
    const ssize_t sent = ::send(socket.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    ENSURE(sent == static_cast<ssize_t>(bytes.size()), "a fresh connection takes a hello");
    return socket;
  }
  [[nodiscard]] std::vector<Socket> come(FirstBytes sort, std::size_t count) const {
    std::vector<Socket> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(come(sort));
    return all;
  }

  TestRun run{0x0ccd};
  test_support::Ears ears;
  test_support::ControlPort port;
  caf::actor listener;
};

bool is_open(const Socket& socket) { return !test_support::is_closed_within(socket, milliseconds(0)); }

std::size_t count_open(const std::vector<Socket>& sockets) {
  return static_cast<std::size_t>(std::ranges::count_if(sockets, is_open));
}

class StrangersOf : public ::testing::TestWithParam<FirstBytes> {};

TEST_P(StrangersOf, S6AnAddressHoldsSoManyAndTheOldestGiveWay) {
  constexpr std::size_t kMore = 5;
  const Occupied occupied(kLong);
  const auto strangers = occupied.come(GetParam(), kOfAnAddress + kMore);
  EXPECT_TRUE(eventually([&] { return count_open(strangers) == kOfAnAddress; })) << count_open(strangers);
  for (std::size_t i = 0; i < strangers.size(); ++i) EXPECT_EQ(is_open(strangers[i]), i >= kMore) << i;
}

TEST_P(StrangersOf, S6EndAtTheirDeadline) {
  const Occupied occupied(kShort);
  const auto strangers = occupied.come(GetParam(), 3);
  for (const Socket& stranger : strangers)
    EXPECT_TRUE(test_support::is_closed_within(stranger, test_support::kPatience));
}

// Strangers come anew with each honest connection, so that what is left of them is never old.
TEST_P(StrangersOf, KeepNoHonestLinkLaneOrOperatorOut) {
  Occupied occupied(kLong);
  const HostPort address{"127.0.0.1", occupied.port.port()};
  const auto person = ControlClient::create(occupied.run.files(PeerRole::kOperator, "me"), address).value();
  Side node(occupied.run, "node1");
  std::vector<std::vector<Socket>> strangers;
  for (std::uint64_t i = 0; i < 3; ++i) {
    strangers.push_back(occupied.come(GetParam(), 50));
    const auto answer = person.get("/v1/status");
    EXPECT_TRUE(answer.ok()) << answer.failure().message;
    strangers.push_back(occupied.come(GetParam(), 50));
    test_support::CafProcess late(occupied.run.files(PeerRole::kNode, "late"),
                                  occupied.run.policy(test_support::kDataRoles));
    EXPECT_EQ(late.ask(late.connect(address.port), "through"), "heard through");
    strangers.push_back(occupied.come(GetParam(), 50));
    const LinkId dialled{kDialled.value + i};
    node.lanes().open(dialled, {address.host, address.port},
                      occupied.port.process().transport().lanes()->expect(LinkId{kAccepted.value + i}));
    EXPECT_TRUE(eventually([&] { return node.ears.count(LaneChange::Kind::kUp, dialled) == 1; }));
  }
}

INSTANTIATE_TEST_SUITE_P(Port, StrangersOf, ::testing::ValuesIn(guest::kEveryFirstBytes),
                         [](const auto& sort) { return std::string(guest::name_of(sort.param)); });

// Each use of the port has a bound of its own; a connection without a whole hello counts as silent, whatever it sent.
TEST(Strangers, S6OfOneUseTakeNoPlaceOfAnother) {
  const Occupied occupied(kLong);
  std::vector<Socket> all;
  for (const auto sort : {FirstBytes::kControlHello, FirstBytes::kLinkHello, FirstBytes::kLaneHello}) {
    for (std::size_t i = 0; i < kOfAnAddress; ++i) {
      all.push_back(occupied.come(sort));
      ASSERT_TRUE(wait_readable(all.back().descriptor(), deadline_in(test_support::kPatience))) << "it was answered";
    }
  }
  const std::size_t first_silent = all.size();
  for (const auto sort : {FirstBytes::kOneByte, FirstBytes::kPartialHello, FirstBytes::kNothing}) {
    for (Socket& socket : occupied.come(sort, kOfAnAddress / 3)) all.push_back(std::move(socket));
  }
  EXPECT_EQ(count_open(all), 4 * kOfAnAddress);
  all.push_back(occupied.come(FirstBytes::kOneByte));
  EXPECT_TRUE(test_support::is_closed_within(all[first_silent], test_support::kPatience));
  EXPECT_EQ(count_open(all), 4 * kOfAnAddress) << "nobody else gave way";
}

}  // namespace
}  // namespace shoal::strangers_test
