// Steps after which the run was to end: what the is_last commits of a journal say together.
//
// All rounds that were contributed to by then are agreed before anything is saved or trained after such a commit
// (P-35), also those that would be due later. So a state of that version, or of a later one that was trained on from
// it, holds them all, in every stage: a member that begins with it has no such round to agree on. A branch that begins
// at an earlier step forgets the ends after it.
//
// Bounded (S-6): the newest kKeptMax. Pure values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "messages/journal.h"
#include "runtime/base/bound.h"

namespace shoal {

class RunEnds {
 public:
  static inline const Bound kKeptMax{"journal.ends_kept", 1024};

  RunEnds() = default;
  explicit RunEnds(const std::vector<std::uint64_t>& versions) : versions_(versions.begin(), versions.end()) {}
  [[nodiscard]] std::vector<std::uint64_t> versions() const { return {versions_.begin(), versions_.end()}; }

  // Follows the journal in its order.
  void follow(const JournalEntry& entry) {
    if (const auto* added = std::get_if<AddReplica>(&entry.body)) go_back_to(added->version);
    if (const auto* commit = std::get_if<Commit>(&entry.body); commit != nullptr && commit->is_last) {
      versions_.push_back(commit->step.value + 1);
      if (kKeptMax.is_exceeded_by(versions_.size())) versions_.pop_front();
    }
  }

  // Steps committed at the newest end on the way to this state; 0: there is none.
  [[nodiscard]] std::uint64_t newest() const { return versions_.empty() ? 0 : versions_.back(); }

 private:
  void go_back_to(std::uint64_t version) {
    while (!versions_.empty() && versions_.back() > version) versions_.pop_back();
  }

  std::deque<std::uint64_t> versions_;  // ascending
};

}  // namespace shoal
