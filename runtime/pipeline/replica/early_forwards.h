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
#include "runtime/base/clock.h"

namespace shoal {

struct EarlyKey {
  Purpose purpose = Purpose::kTrain;
  MicrobatchId microbatch;
  Incarnation sender;
  friend auto operator<=>(const EarlyKey&, const EarlyKey&) = default;
};

// When it came, and how long its tensor was on its way: from then on it waits here, on no link.
struct Arrival {
  Instant at{};
  double transfer_ms = 0;
};

struct EarlyForward {
  Forward forward;
  Arrival arrival;
};

class EarlyForwards {
 public:
  explicit EarlyForwards(std::uint32_t microbatch_count) : microbatch_count_(microbatch_count) {}

  // A repeat always has room.
  [[nodiscard]] bool has_room_for(const Forward& message) const;
  void hold(const Forward& message, const Arrival& arrival) {
    waiting_.insert_or_assign(key_of(message), EarlyForward{message, arrival});
  }
  [[nodiscard]] bool holds(Purpose purpose, MicrobatchId microbatch, Incarnation sender) const {
    return waiting_.contains({purpose, microbatch, sender});
  }
  // All of them; they wait no more.
  [[nodiscard]] std::map<EarlyKey, EarlyForward> take() { return std::exchange(waiting_, {}); }
  [[nodiscard]] std::size_t size() const { return waiting_.size(); }
  [[nodiscard]] std::size_t size_max() const;

 private:
  [[nodiscard]] static EarlyKey key_of(const Forward& message) {
    return {message.purpose, message.cause.microbatch, message.sender};
  }

  std::uint32_t microbatch_count_;
  std::map<EarlyKey, EarlyForward> waiting_;
};

}  // namespace shoal
