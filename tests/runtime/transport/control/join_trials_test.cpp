// The connections of a node, tried beforehand and without a certificate.
#include "runtime/transport/control/join_trials.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/runtime/transport/control/control_port.h"
#include "tests/runtime/transport/test_run.h"

namespace shoal::join_trials_test {
namespace {

TEST(JoinTrials, GoToTheSpawnersPortAndTheNextOne) {
  const auto trials = join_trials({"10.0.0.1", 7000});
  ASSERT_TRUE(trials.ok());
  std::vector<std::pair<std::uint16_t, PortProtocol>> tried;
  for (const JoinTrial& trial : *trials) {
    tried.emplace_back(trial.address.port, trial.protocol);
    const std::string port = std::to_string(trial.address.port);
    EXPECT_EQ(trial.remedy.find("open TCP port " + port + " of 10.0.0.1 for this machine"), 0U) << trial.remedy;
  }
  const std::vector<std::pair<std::uint16_t, PortProtocol>> all = {{7000, PortProtocol::kControl},
                                                                   {7000, PortProtocol::kLink},
                                                                   {7000, PortProtocol::kLane},
                                                                   {7001, PortProtocol::kLink},
                                                                   {7001, PortProtocol::kLane}};
  EXPECT_EQ(tried, all);
  EXPECT_EQ(join_trials({"10.0.0.1", 65535}).failure().error, Error::kUsage);
}

TEST(JoinTrials, EachSucceedsWhereItsProtocolIsSpokenAndFailsElsewhere) {
  const test_support::TestRun run(0x5eed);
  const std::vector<PeerRole> roles = {PeerRole::kSpawner, PeerRole::kNode};
  test_support::ControlPort spawner(run.files(PeerRole::kSpawner, "spawner"), run.policy(roles));
  spawner.server()->serve();
  test_support::CafProcess storage(run.files(PeerRole::kStorage, "storage"), run.policy(roles));
  const std::uint16_t storage_port = storage.publish();
  for (const auto protocol : {PortProtocol::kControl, PortProtocol::kLink, PortProtocol::kLane}) {
    const Status of_spawner = attempt({"a trial", {"127.0.0.1", spawner.port()}, protocol, ""});
    EXPECT_TRUE(of_spawner.ok()) << of_spawner.failure().message;
    const Status of_storage = attempt({"a trial", {"127.0.0.1", storage_port}, protocol, ""});
    EXPECT_EQ(of_storage.ok(), protocol != PortProtocol::kControl);
  }
  JoinTrial misled = join_trials({"127.0.0.1", storage_port})->front();
  EXPECT_EQ(remedy_of(misled).find("storage of a run answers"), 0U) << "its port is open: " << remedy_of(misled);
  misled.whom = PeerRole::kStorage;
  EXPECT_EQ(remedy_of(misled), misled.remedy) << "who is looked for answers";
  storage.transport().close(storage_port);
  const JoinTrial trial{"a trial", {"127.0.0.1", storage_port}, PortProtocol::kLink, ""};
  EXPECT_TRUE(test_support::eventually([&] { return !attempt(trial).ok(); }));
  EXPECT_NE(attempt(trial).failure().message.find(host_port_text(trial.address)), std::string::npos);
}

}  // namespace
}  // namespace shoal::join_trials_test
