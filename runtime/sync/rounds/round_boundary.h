// RoundBoundary: what a member does between the apply of a step and the next one, round by round.
//
//   (not at it) ──reach()──▶ contributions are taken, one after the other ──▶ updates are waited for, and made together
//       ▲                         └── nothing is due: at once                                    │
//       └────────────────────────────────────────────────────────────────────────────────────────┘
//
// A round that began before this member did is contributed to wherever the member stands. Bounded (S-6) by the rounds
// that may be open at once. Pure.
#pragma once

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "messages/sync.h"

namespace shoal {

class RoundBoundary {
 public:
  // A step is applied: these contributions are taken, then these updates are made.
  void reach(const std::vector<RoundId>& contributions, std::vector<RoundId> updates) {
    to_contribute_.insert(to_contribute_.end(), contributions.begin(), contributions.end());
    to_update_ = std::move(updates);
    is_at_it_ = !is_settled();
  }
  // This update is due, too.
  void add_update(const RoundId& round) {
    to_update_.push_back(round);
    is_at_it_ = true;
  }
  void add_contribution(const RoundId& round) { to_contribute_.push_back(round); }

  [[nodiscard]] std::optional<RoundId> next_contribution() const {
    return to_contribute_.empty() ? std::nullopt : std::optional(to_contribute_.front());
  }
  void contributed() {
    to_contribute_.pop_front();
    if (is_settled()) is_at_it_ = false;
  }
  [[nodiscard]] const std::vector<RoundId>& updates() const { return to_update_; }
  // Everything that was due is made; returns which updates that were.
  std::vector<RoundId> leave() {
    is_at_it_ = false;
    return std::exchange(to_update_, {});
  }
  [[nodiscard]] bool is_at_it() const { return is_at_it_; }

 private:
  [[nodiscard]] bool is_settled() const { return to_contribute_.empty() && to_update_.empty(); }

  bool is_at_it_ = false;
  std::deque<RoundId> to_contribute_;
  std::vector<RoundId> to_update_;
};

}  // namespace shoal
