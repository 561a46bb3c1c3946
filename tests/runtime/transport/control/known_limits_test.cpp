// Tests the limits for members of the run at the control endpoint and its clients (S-6): so many connections of nodes
// at once, beside which operators get in, and answers of a bounded length.
#include <gtest/gtest.h>

#include "runtime/base/compose.h"
#include "runtime/transport/control/control_client.h"
#include "tests/runtime/transport/control/control_port.h"
#include "tests/runtime/transport/test_run.h"

namespace shoal::known_limits_test {
namespace {

using test_support::ControlPort;
using test_support::eventually;
using test_support::TestRun;

constexpr std::size_t kNodesMax = 5;
constexpr std::size_t kAnswerBytesMax = 64U << 20U;  // as in control_client.cpp

ControlLimits few_nodes() {
  ControlLimits limits;
  limits.known_count_max = kNodesMax;
  return limits;
}

class KnownLimits : public ::testing::Test {
 protected:
  KnownLimits() {
    const auto& server = port.server();
    server->handle({"GET", "/v1/brief", {PeerRole::kNode, PeerRole::kOperator}},
                   [](const ControlRequest&) { return ControlResponse{}; });
    server->handle({"GET", "/v1/longest", {PeerRole::kOperator}}, [](const ControlRequest& request) {
      const std::size_t more = request.query.contains("more") ? 1 : 0;
      return ControlResponse{200, std::string(kAnswerBytesMax + more, ' ')};
    });
    server->serve();
  }
  [[nodiscard]] ControlClient client(PeerRole role) const {
    const std::string name = role == PeerRole::kNode ? "node1" : "me";
    return ControlClient::create(run.files(role, name), {"127.0.0.1", port.port()}).value();
  }

  TestRun run{0x5eed};
  ControlPort port{run.files(PeerRole::kSpawner, "spawner"), run.policy({PeerRole::kNode, PeerRole::kOperator}),
                   few_nodes()};
};

TEST_F(KnownLimits, S6NodesAreTurnedAwayWhereOperatorsGetIn) {
  const ControlClient node = client(PeerRole::kNode);
  std::vector<ControlConnection> open;
  for (std::size_t i = 0; i < kNodesMax; ++i) {
    auto one = node.connect();
    ASSERT_TRUE(one.ok()) << one.failure().message;
    open.push_back(std::move(*one));
  }
  EXPECT_TRUE(eventually([&] { return !node.get("/v1/brief").ok(); })) << "one more";
  EXPECT_TRUE(client(PeerRole::kOperator).get("/v1/brief").ok());
  open.clear();
  EXPECT_TRUE(eventually([&] { return node.get("/v1/brief").ok(); }));
}

TEST_F(KnownLimits, S6AnAnswerHasABoundedLength) {
  const ControlClient person = client(PeerRole::kOperator);
  const auto longest = person.get("/v1/longest");
  ASSERT_TRUE(longest.ok()) << longest.failure().message;
  EXPECT_EQ(longest->body.size(), kAnswerBytesMax);
  EXPECT_FALSE(person.get("/v1/longest?more=1").ok());
}

}  // namespace
}  // namespace shoal::known_limits_test
