// The seeded order of messages, and time.
#include "tests/support/simulation/clockwork.h"

#include <chrono>
#include <utility>
#include <vector>

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

const caf::resumable* SimulationClockwork::resumable_of(const caf::actor& actor) {
  return dynamic_cast<caf::resumable*>(caf::actor_cast<caf::abstract_actor*>(actor));
}

bool SimulationClockwork::choose_job() {
  auto& jobs = coordinator_->jobs;
  if (jobs.empty()) return false;
  if (stopped_.empty()) {
    std::swap(jobs.front(), jobs[draw(jobs.size())]);
    return true;
  }
  std::vector<std::size_t> free;
  for (std::size_t at = 0; at < jobs.size(); ++at) {
    if (!stopped_.contains(jobs[at])) free.push_back(at);
  }
  if (free.empty()) return false;
  std::swap(jobs.front(), jobs[free[draw(free.size())]]);
  return true;
}

bool SimulationClockwork::run_one() {
  if (!choose_job()) return coordinator_->clock().has_pending_timeout() && coordinator_->trigger_timeout();
  ++messages_;
  return coordinator_->try_run_once();
}

void SimulationClockwork::end_now(const caf::actor& actor, const caf::error& reason) {
  resume(actor);
  caf::anon_send<caf::message_priority::high>(actor, caf::exit_msg{actor.address(), reason});
  for (int resumes = 0; resumes < kResumesToEnd && coordinator_->prioritize(actor); ++resumes) {
    (void)coordinator_->try_run_once();
  }
}

}  // namespace shoal
