// A replica's core on a fake device, driven by hand: give it messages, read what it sends.
// Time stands still unless a test moves it, and a job is done at once.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/pipeline/replica/replica.h"
#include "tests/support/fake_executor.h"

namespace shoal {

class ReplicaBench {
 public:
  explicit ReplicaBench(const ReplicaSetup& setup)
      : core(setup, start()),
        executor(FakeShape{setup.stage.value, setup.stage_count, setup.microbatch_count, DType::kInt64,
                           setup.rounds.value_or(SyncConfig{})}) {}

  // Performs effects as the actor does: letters are kept in `sent`, jobs run at once.
  void perform(const Effects& effects) {
    for (const Effect& effect : effects) {
      if (const auto* send = std::get_if<SendLetter>(&effect)) sent.push_back(send->letter);
      if (const auto* end = std::get_if<End>(&effect)) ended = end->reason;
      if (const auto* job = std::get_if<RunJob>(&effect)) {
        JobResult result = run_job(executor, job->job);
        now += job_duration;
        perform(core.completed(std::move(result), now));
      }
    }
  }
  void begin() { perform(core.begin(now)); }
  template <class Message>
  void give(const Message& message) {
    perform(core.receive(message, now));
  }
  bool run_one() {
    if (!core.has_job()) return false;
    perform(core.run_next(now));
    return true;
  }
  void run_all() {
    while (run_one()) {
    }
  }
  // Everything of this type sent since the last look; letters of other types stay.
  template <class Body>
  [[nodiscard]] std::vector<Body> take() {
    std::vector<Body> found;
    std::deque<Letter> rest;
    for (Letter& letter : sent) {
      if (const auto* body = std::get_if<Body>(&letter.body)) {
        found.push_back(*body);
      } else {
        rest.push_back(std::move(letter));
      }
    }
    sent = std::move(rest);
    return found;
  }

  [[nodiscard]] static Instant start() { return Instant{} + std::chrono::hours(1); }

  Instant now = start();
  Duration job_duration = std::chrono::milliseconds(1);
  ReplicaCore core;
  FakeExecutor executor;
  std::deque<Letter> sent;
  std::optional<std::string> ended;
};

}  // namespace shoal
