// Forwards that wait: the step in progress here is not yet theirs, or the journal has not yet told of their sender
// (P-5, P-10).
//
// Bounded (S-6) by two of each microbatch and kWaitingMax more. A repeat takes the place of what it repeats.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "messages/pipeline.h"

namespace shoal {

struct EarlyKey {
  Purpose purpose = Purpose::kTrain;
  MicrobatchId microbatch;
  Incarnation sender;
  friend auto operator<=>(const EarlyKey&, const EarlyKey&) = default;
};

class EarlyForwards {
 public:
  explicit EarlyForwards(std::uint32_t microbatch_count) : microbatch_count_(microbatch_count) {}

  // A repeat always has room.
  [[nodiscard]] bool has_room_for(const Forward& message) const;
  void hold(const Forward& message) { waiting_.insert_or_assign(key_of(message), message); }
  [[nodiscard]] bool holds(Purpose purpose, MicrobatchId microbatch, Incarnation sender) const {
    return waiting_.contains({purpose, microbatch, sender});
  }
  // All of them; they wait no more.
  [[nodiscard]] std::map<EarlyKey, Forward> take() { return std::exchange(waiting_, {}); }
  [[nodiscard]] std::size_t size() const { return waiting_.size(); }
  [[nodiscard]] std::size_t size_max() const;

 private:
  [[nodiscard]] static EarlyKey key_of(const Forward& message) {
    return {message.purpose, message.cause.microbatch, message.sender};
  }

  std::uint32_t microbatch_count_;
  std::map<EarlyKey, Forward> waiting_;
};

}  // namespace shoal
