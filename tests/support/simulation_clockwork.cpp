// The seeded order of messages, and time.
#include "tests/support/simulation_clockwork.h"

#include <chrono>
#include <utility>

#include "messages/actor_types.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr int kResumesToEnd = 1000;

}  // namespace

SimulationClockwork::SimulationClockwork(std::uint64_t seed) : random_(seed) {
  config_.set("scheduler.policy", caf::atom("testing"));
  system_ = std::make_unique<caf::actor_system>(config_);
  coordinator_ = dynamic_cast<caf::scheduler::test_coordinator*>(&system_->scheduler());
  coordinator_->clock().current_time += 1h;  // zero is special
  begin_ = now();
}

bool SimulationClockwork::run_one() {
  auto& jobs = coordinator_->jobs;
  if (jobs.empty()) return coordinator_->clock().has_pending_timeout() && coordinator_->trigger_timeout();
  std::swap(jobs.front(), jobs[draw(jobs.size())]);
  ++messages_;
  return coordinator_->try_run_once();
}

void SimulationClockwork::end_now(const caf::actor& actor, const caf::error& reason) {
  caf::anon_send<caf::message_priority::high>(actor, caf::exit_msg{actor.address(), reason});
  for (int resumes = 0; resumes < kResumesToEnd && coordinator_->prioritize(actor); ++resumes) {
    (void)coordinator_->try_run_once();
  }
}

}  // namespace shoal
