// Letters that an actor of this process was given and has not taken yet: what would be lost with it when it ends, and
// goes to its next life instead.
//
// Each is given once to each life and taken at most once: the counter that all lives share says how many were taken,
// and they are taken in the order in which they were given. Bounded: the oldest is given up, and counted. Pure.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>

#include "messages/letter.h"
#include "runtime/base/bound.h"

namespace shoal {

class UntakenLetters {
 public:
  using Counter = std::shared_ptr<const std::atomic<std::uint64_t>>;
  static inline const Bound kCountMax{"links.untaken_letters", 4096};

  explicit UntakenLetters(Counter taken) : taken_(std::move(taken)), taken_before_(taken_->load()) {}

  // To the actor that lives now.
  void add(MessageBody body) {
    forget_taken();
    if (kCountMax.is_reached_by(untaken_.size())) {
      untaken_.pop_front();
      ++taken_before_;
      ++given_up_;
    }
    untaken_.push_back(std::move(body));
  }
  // The life before is over: what the next one is to be given, in this order.
  [[nodiscard]] const std::deque<MessageBody>& begin_life() {
    forget_taken();
    taken_before_ = taken_->load();
    return untaken_;
  }
  // What was taken since the last call is in nobody's way any more. Now and then: a letter may hold a whole shard.
  void forget_taken() {
    for (const std::uint64_t taken = taken_->load(); taken_before_ < taken && !untaken_.empty(); ++taken_before_) {
      untaken_.pop_front();
    }
  }
  [[nodiscard]] std::uint64_t given_up() const { return given_up_; }

 private:
  Counter taken_;
  std::deque<MessageBody> untaken_;
  std::uint64_t taken_before_ = 0;  // what the counter says when the first of `untaken_` is the next to be taken
  std::uint64_t given_up_ = 0;
};

}  // namespace shoal
