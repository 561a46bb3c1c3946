// The part of one observed replica in rounds (PROTOCOL.md §8), as far as it does not depend on what it has read by
// when: contributions that it took, orders that its router took for it, means of others.
//
// Letters of a replica about a round come later than all of these, so each is a bound that no reordering breaks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "tests/protocol/observed/letter.h"
#include "tests/protocol/observed/standing.h"

namespace shoal::observed {

class MemberRounds {
 public:
  // Its router took a letter about a round, or a mean, for it.
  void take(const Letter& letter);
  // It is a member with a state of this version.
  void start_at(std::uint64_t version) { version_ = started_ = version; }
  void end_job(std::string_view word);
  // Its router sends a letter of its own about a round.
  [[nodiscard]] std::optional<Objection> say(const Letter& letter);
  // P-34: the mean of a round with contributions of that step came.
  [[nodiscard]] bool has_mean(StepId step) const { return means_.contains(step); }
  // P-31: an order about a round from before it came.
  [[nodiscard]] bool is_asked_for_what_was_before() const { return is_asked_for_before_; }

 private:
  using Order = std::pair<RoundId, std::uint32_t>;  // with the counter of the epoch

  [[nodiscard]] std::optional<Objection> contribute(const Letter& letter);

  std::uint64_t version_ = 0, started_ = 0;
  bool is_asked_for_before_ = false;
  std::set<Order> prepares_, reduces_;
  std::map<std::uint64_t, std::size_t> contributions_;         // taken, by version
  std::map<std::uint64_t, std::set<RoundId>> contributed_to_;  // said to be, by version; those from before: 0
  std::set<StepId> means_;
};

}  // namespace shoal::observed
