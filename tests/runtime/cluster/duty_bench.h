// Bench for tests of one duty: what is true of a small run, and a look at what a duty answers.
//
// Two stages with two replicas each. Nothing performs an answer: a test reads it, and changes the truth as it likes.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/cluster/number_block.h"
#include "runtime/cluster/truth/truth.h"
#include "tests/support/commit_policies.h"

namespace shoal {

// Stages that fit every GPU and take so much of the machine beneath it.
inline std::vector<StageNeed> needs_of_hosts(const std::vector<std::uint64_t>& host_bytes) {
  std::vector<StageNeed> needs;
  for (const std::uint64_t bytes : host_bytes) {
    needs.push_back({1, 1});
    needs.back().on_gpu = {1, 0, 1, bytes, 0};
  }
  return needs;
}

inline SupervisorConfig small_run() {
  SupervisorConfig config;
  config.run = RunId{9};
  config.term = Term{1};
  config.stages = 2;
  config.replicas = 2;
  config.microbatches = 4;
  config.steps_target = 3;
  config.policy = constant_rate(0.1, 1);
  config.resume_hint = "resume with: shoal train --resume runs/x";
  return config;
}

struct DutyBench {
  explicit DutyBench(SupervisorConfig config = small_run()) : truth(std::move(config)) {
    numbers.reserved(NumberKind::kProcess, 1, 1000);
    numbers.reserved(NumberKind::kActor, 1001, 1000);
    truth.follow(TermBegins{}, now);
  }

  std::uint32_t started_by = 0;  // the keeper of whoever joins from here on
  ProcessIncarnation join(const std::string& name, ProcessRole role = ProcessRole::kNode,
                          std::uint32_t device_index = 0, std::uint64_t memory_bytes = 0) {
    MachineOffer offer;
    offer.memory_bytes = memory_bytes;
    return join_giving(offer, name, device_index, role);
  }
  ProcessIncarnation join_giving(const MachineOffer& offer, const std::string& name, std::uint32_t device_index,
                                 ProcessRole role = ProcessRole::kNode) {
    const ProcessIncarnation process = numbers.take_process();
    Join join;
    join.name = name;
    join.role = role;
    join.device_index = device_index;
    join.offer = offer;
    join.nonce = nonce_of_start(started_by, static_cast<std::uint32_t>(process.value));
    (void)truth.roster.processes.admit(join, process);
    return process;
  }
  // On a GPU of a node whose machine has so much for all workers on it. machine: 0, nobody knows which one it is.
  ProcessIncarnation join_on_gpu(const std::string& name, std::uint32_t device_index, std::uint64_t host_bytes,
                                 std::uint64_t machine = 0) {
    MachineOffer offer;
    offer.is_gpu = true;
    offer.host_bytes = host_bytes;
    offer.machine = machine;
    return join_giving(offer, name, device_index);
  }
  void record(JournalBody body) {
    const JournalPosition next{truth.view().position().value + 1};
    truth.follow(JournalEntry{next, truth.history.branch(), truth.config.term, std::move(body)});
  }
  // Replica 11 + 10 * stage + slot on node 1 + stage + 2 * slot.
  void train() {
    for (std::uint32_t slot = 0; slot < 2; ++slot) {
      for (std::uint32_t stage = 0; stage < 2; ++stage) {
        const ProcessIncarnation process = join("node" + std::to_string(1 + stage + 2 * slot));
        record(AddReplica{StageId{stage}, ReplicaId{slot}, replica(stage, slot), process, 0});
      }
    }
    truth.follow(TrainingBegins{}, now);
  }
  [[nodiscard]] static Incarnation replica(std::uint32_t stage, std::uint32_t slot) {
    return Incarnation{11 + 10 * stage + slot};
  }
  [[nodiscard]] ProcessIncarnation process(std::uint32_t stage, std::uint32_t slot) const {
    return truth.view().members().process_of(replica(stage, slot));
  }
  // A vote for the step in progress.
  [[nodiscard]] Prepared vote_of(std::uint32_t stage) const {
    Prepared vote;
    vote.order = {truth.config.run,
                  truth.view().branch(),
                  truth.config.term,
                  StageId{stage},
                  StepId{truth.view().committed_steps()},
                  Epoch{truth.view().members().group_of(StageId{stage}), 2}};
    vote.position = truth.view().position();
    vote.manifests = {{replica(stage, 0), {ManifestEntry{MicrobatchId{0}, 10, 1.0, {}}}}};
    return vote;
  }
  [[nodiscard]] Commit commit_of(std::uint64_t step) const {
    Commit commit;
    commit.step = StepId{step};
    commit.token_count = 10;
    commit.loss_sum = 1;
    return commit;
  }

  Instant now = Instant{} + std::chrono::hours(1);
  Truth truth;
  ReservedNumbers numbers;
};

template <class Told>
std::vector<Told> told(const Answers& answers) {
  std::vector<Told> found;
  for (const DutyAnswer& answer : answers.all()) {
    const auto* fact = std::get_if<RunFact>(&answer);
    if (const auto* one = fact == nullptr ? nullptr : std::get_if<Told>(fact)) found.push_back(*one);
  }
  return found;
}

template <class Effect>
std::vector<Effect> asked(const Answers& answers) {
  std::vector<Effect> found;
  for (const DutyAnswer& answer : answers.all()) {
    const auto* effect = std::get_if<SupervisorEffect>(&answer);
    if (const auto* one = effect == nullptr ? nullptr : std::get_if<Effect>(effect)) found.push_back(*one);
  }
  return found;
}

template <class Message>
std::vector<Message> sent(const Answers& answers) {
  std::vector<Message> found;
  for (const Letter& letter : asked<Letter>(answers)) {
    if (const auto* one = std::get_if<Message>(&letter.body)) found.push_back(*one);
  }
  return found;
}

template <class Body>
std::vector<Body> entries(const Answers& answers) {
  std::vector<Body> found;
  for (const AppendEntry& effect : asked<AppendEntry>(answers)) {
    if (const auto* one = std::get_if<Body>(&effect.body)) found.push_back(*one);
  }
  return found;
}

// Returns the words of the events.
inline std::vector<std::string> announced(const Answers& answers) {
  std::vector<std::string> events;
  for (const DutyAnswer& answer : answers.all()) {
    if (const auto* one = std::get_if<Announcement>(&answer)) events.emplace_back(word_of(one->kind));
  }
  return events;
}

// Returns where the first of a kind stands in the answer; its length when there is none.
template <class Told>
std::size_t place_of(const Answers& answers) {
  std::size_t place = 0;
  for (const DutyAnswer& answer : answers.all()) {
    const auto* fact = std::get_if<RunFact>(&answer);
    if (fact != nullptr && std::holds_alternative<Told>(*fact)) break;
    ++place;
  }
  return place;
}

}  // namespace shoal
