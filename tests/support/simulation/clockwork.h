// CAF's test coordinator with one seed for everything: which of the runnable actors gets its next message, and all that
// the simulation draws. One thread, virtual time, which passes only when no actor has anything to do.
//
// Equal seeds give equal runs, message for message: nothing here looks at a clock, an address or a thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <set>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include "runtime/base/clock.h"

namespace shoal {

class SimulationClockwork {
 public:
  explicit SimulationClockwork(std::uint64_t seed);
  SimulationClockwork(const SimulationClockwork&) = delete;
  SimulationClockwork& operator=(const SimulationClockwork&) = delete;

  [[nodiscard]] caf::actor_system& system() { return *system_; }
  [[nodiscard]] Instant now() const { return coordinator_->clock().now(); }
  [[nodiscard]] Duration elapsed() const { return now() - begin_; }
  [[nodiscard]] std::uint64_t messages() const { return messages_; }

  // A number below `bound`, from the seed.
  [[nodiscard]] std::uint64_t draw(std::uint64_t bound) { return random_() % bound; }
  [[nodiscard]] std::uint64_t draw() { return random_(); }

  // Gives one actor one message; if nobody has any, lets time pass to the next timeout. False: nothing will ever
  // happen.
  bool run_one();
  // SIGSTOP and SIGCONT: a stopped actor is given no messages; what it is sent waits.
  void stop(const caf::actor& actor) { stopped_.insert(resumable_of(actor)); }
  void resume(const caf::actor& actor) { stopped_.erase(resumable_of(actor)); }
  // Ends it before anybody else does anything. What it had in its mailbox is lost, as with a process that dies. An
  // actor that dies alone needs another reason than `kill`, with which it would take its supervisor along.
  void end_now(const caf::actor& actor, const caf::error& reason = caf::exit_reason::kill);

 private:
  [[nodiscard]] static const caf::resumable* resumable_of(const caf::actor& actor);
  // Puts one that may run to the front of the jobs. False: there is none.
  [[nodiscard]] bool choose_job();

  std::mt19937_64 random_;
  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  caf::scheduler::test_coordinator* coordinator_ = nullptr;
  Instant begin_;
  std::uint64_t messages_ = 0;
  std::set<const caf::resumable*> stopped_;
};

}  // namespace shoal
