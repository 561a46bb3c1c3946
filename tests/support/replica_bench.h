// A replica's core on a fake device, driven by hand: give it messages, read what it sends.
// Time stands still unless a test moves it, and a job is done at once, or when the test says so.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
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
      if (const auto* job = std::get_if<RunJob>(&effect)) begin_job(job->job);
    }
  }
  // Computes the oldest of the jobs that are under way. False: there is none.
  bool end_job() {
    if (jobs.empty()) return false;
    JobResult result = run_job(executor, jobs.front());
    jobs.pop_front();
    now += job_duration;
    perform(core.completed(std::move(result), now));
    while (const auto held = core.take_held()) {
      std::visit([this](const auto& message) { hear(message); }, *held);
    }
    return true;
  }
  void end_jobs() {
    while (end_job()) {
    }
  }
  void begin() { perform(core.begin(now)); }
  template <class Message>
  void give(const Message& message) {
    if (core.admits(message)) hear(message);
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

  // Says of a job whether it ends later, by end_job(). Behind one that does, all do.
  std::function<bool()> is_late = [] { return false; };
  std::deque<Job> jobs;

  Instant now = start();
  Duration job_duration = std::chrono::milliseconds(1);
  ReplicaCore core;
  FakeExecutor executor;
  std::deque<Letter> sent;
  std::optional<std::string> ended;

 private:
  void begin_job(const Job& job) {
    jobs.push_back(job);
    if (jobs.size() == 1 && !is_late()) end_job();
  }
  template <class Message>
  void hear(const Message& message) {
    if constexpr (std::is_same_v<Message, HeldTick>) {
      perform(core.tick(now));
    } else if constexpr (std::is_same_v<Message, TensorTimed>) {
      core.transfer_timed(message.milliseconds);
    } else if constexpr (std::is_same_v<Message, std::shared_ptr<const View>>) {
      perform(core.begin_at(*message, now));
    } else if constexpr (std::is_same_v<Message, MessageBody>) {
      std::visit([this](const auto& body) { hear(body); }, message);
    } else if constexpr (requires { core.receive(message, now); }) {
      perform(core.receive(message, now));
    }
  }
};

}  // namespace shoal
