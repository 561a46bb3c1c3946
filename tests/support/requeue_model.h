// sync.requeue_lost as one would write it with unbounded memory: the control of what the runtime
// computes from the same journal, here out of whole manifests and whole plans.
//
// A sample is a number: microbatch m of step s of a run that loses nothing has sample s * microbatches + m.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "messages/journal.h"
#include "runtime/base/compose.h"

namespace shoal {

class RequeueModel {
 public:
  using Plan = std::vector<std::vector<std::uint64_t>>;  // samples by step and microbatch

  // contributed_before: the steps committed at the contributions of the fragment's round before this one.
  RequeueModel(std::uint32_t microbatches, std::function<std::uint64_t(const RoundId&)> contributed_before)
      : microbatches_(microbatches), contributed_before_(std::move(contributed_before)) {
    plan_next(state_);
    after_[0] = state_;
  }

  void follow(const JournalEntry& entry) {
    const auto* added = std::get_if<AddReplica>(&entry.body);
    if (added != nullptr && entry.branch > branch_) {
      branch_ = entry.branch;
      state_ = after_.at(added->version);
      after_.erase(after_.upper_bound(added->version), after_.end());
    }
    if (const auto* commit = std::get_if<Commit>(&entry.body)) take(*commit);
    if (const auto* round = std::get_if<CommitRound>(&entry.body)) take(*round);
    after_[state_.commits.size()] = state_;
  }

  // Plan of the steps of this branch and the one in progress.
  [[nodiscard]] const Plan& plan() const { return state_.plan; }
  [[nodiscard]] std::uint64_t fresh() const { return state_.fresh; }
  // On this branch, in order; the last of them may not be in the plan yet.
  [[nodiscard]] const std::vector<std::uint64_t>& requeued() const { return state_.requeued; }
  // Microbatches whose samples those are.
  [[nodiscard]] const std::set<std::pair<std::uint64_t, std::uint32_t>>& lost() const { return state_.lost; }
  // Entries that lose other tokens than they say.
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

 private:
  struct State {
    std::vector<Commit> commits;  // by step
    Plan plan;
    std::uint64_t fresh = 0;  // samples planned for the first time
    std::deque<std::uint64_t> waiting;
    std::vector<std::uint64_t> arriving;  // lost since the last commit: the step in progress may be under way
    std::vector<std::uint64_t> requeued;
    std::set<std::pair<std::uint64_t, std::uint32_t>> lost;
  };

  void plan_next(State& state) const {
    std::vector<std::uint64_t>& step = state.plan.emplace_back();
    while (step.size() < microbatches_) {
      const bool is_repeat = !state.waiting.empty();
      step.push_back(is_repeat ? state.waiting.front() : state.fresh++);
      if (is_repeat) state.waiting.pop_front();
    }
  }
  void take(const Commit& commit) {
    state_.commits.push_back(commit);
    state_.waiting.insert(state_.waiting.end(), state_.arriving.begin(), state_.arriving.end());
    state_.arriving.clear();
    plan_next(state_);
  }
  void take(const CommitRound& round) {
    std::set<Incarnation> merged;
    for (const RoundShare& share : round.shares) {
      if (share.token_count > 0) merged.insert(share.member);
    }
    std::uint64_t tokens = 0;
    std::set<std::pair<std::uint64_t, std::uint32_t>> lost;
    for (std::uint64_t step = contributed_before_(round.round); step < round.step.value; ++step) {
      for (const StageCommit& stage : state_.commits.at(step).stages) {
        for (const MemberManifest& manifest : stage.manifests) {
          if (stage.stage != round.stage || merged.contains(manifest.member)) continue;
          for (const ManifestEntry& one : manifest.entries) {
            tokens += one.token_count;
            lost.emplace(step, one.microbatch.value);
          }
        }
      }
    }
    for (const auto& place : lost) {
      if (!state_.lost.insert(place).second) continue;
      state_.arriving.push_back(state_.plan.at(place.first).at(place.second));
      state_.requeued.push_back(state_.arriving.back());
    }
    if (tokens == round.tokens_lost) return;
    violations_.push_back(compose("round ", round.round.number, " of fragment ", round.round.fragment, " of stage ",
                                  round.stage, " loses ", round.tokens_lost, " tokens, its microbatches have ",
                                  tokens));
  }

  std::uint32_t microbatches_;
  std::function<std::uint64_t(const RoundId&)> contributed_before_;
  Branch branch_;
  State state_;
  std::map<std::uint64_t, State> after_;  // by steps committed: what a branch that begins there stands on
  std::vector<std::string> violations_;
};

}  // namespace shoal
