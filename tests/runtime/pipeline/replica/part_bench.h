// One part of a replica, without the others: a test tells it what it hears and reads what it answers.
// The replica is a member at version 0 (member_bench.h); a test changes `standing` as the frame would.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "runtime/pipeline/replica/replica_turn.h"
#include "tests/support/member_bench.h"

namespace shoal {

class PartBench {
 public:
  explicit PartBench(const ReplicaSetup& setup = setup_of(kB0))
      : standing(setup), turn(standing, ReplicaBench::start()) {
    standing.membership = Membership::kMember;
    for (const Incarnation replica : {kA0, kA1, kB0, kB1}) standing.members[replica] = stage_of(replica);
  }

  // Keeps what the part asked for, and its facts, which nobody hears.
  template <class Part, class Heard>
  void tell(Part& part, const Heard& heard) {
    part.hear(heard, turn);
    collect();
  }
  // The job that it asked for has this result.
  template <class Part, class Result>
  void complete(Part& part, const Result& result) {
    turn.complete(turn.now());
    job.reset();
    tell(part, result);
  }
  // Such a job of another part has this result.
  template <class Part, class Result>
  void complete_unasked(Part& part, const Result& result) {
    turn.run(ImageJob{}, Activity::kApply);
    collect();
    complete(part, result);
  }
  void collect() {
    for (Effect& effect : turn.finish()) {
      if (auto* send = std::get_if<SendLetter>(&effect)) letters.push_back(std::move(send->letter));
      if (auto* run = std::get_if<RunJob>(&effect)) job = std::move(run->job);
      if (auto* end = std::get_if<End>(&effect)) ended = end->reason;
    }
    for (Fact& fact : turn.take_facts()) facts.push_back(std::move(fact));
  }
  void pass(Duration time) { turn.begin(turn.now() + time); }

  // The letters of this type sent since the last look; those of other types stay.
  template <class Body>
  [[nodiscard]] std::vector<Body> take_letters() {
    std::vector<Body> found;
    std::erase_if(letters, [&](const Letter& letter) {
      const auto* body = std::get_if<Body>(&letter.body);
      if (body != nullptr) found.push_back(*body);
      return body != nullptr;
    });
    return found;
  }
  // Likewise the facts.
  template <class Told>
  [[nodiscard]] std::vector<Told> take_facts() {
    std::vector<Told> found;
    std::erase_if(facts, [&](const Fact& fact) {
      const auto* told = std::get_if<Told>(&fact);
      if (told != nullptr) found.push_back(*told);
      return told != nullptr;
    });
    return found;
  }
  template <class Asked>
  [[nodiscard]] const Asked* job_as() const {
    return job ? std::get_if<Asked>(&*job) : nullptr;
  }
  [[nodiscard]] OrderId order(std::uint32_t counter, std::uint64_t step = 0) const {
    return {kRun, {}, Term{1}, standing.setup.stage, StepId{step}, Epoch{kGroup, counter}};
  }

  ReplicaStanding standing;
  ReplicaTurn turn;
  std::vector<Letter> letters;
  std::vector<Fact> facts;
  std::optional<Job> job;
  std::optional<std::string> ended;
};

}  // namespace shoal
