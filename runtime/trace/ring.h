// A bounded queue of trace events: any number of producers, one consumer at a time, no allocation after construction.
//
// A full ring refuses and counts; it never waits and never overwrites (S-6: the bound is the capacity). Each slot
// carries the number of the turn in which it may be written or read (D. Vyukov's bounded queue), so that a producer
// that is descheduled between taking a slot and filling it delays the consumer at that slot and nobody else.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/trace/event.h"

namespace shoal {

class TraceRing {
 public:
  // capacity: a power of two, at least 2 (CHECK).
  explicit TraceRing(std::size_t capacity) : slots_(capacity), mask_(capacity - 1) {
    CHECK(capacity >= 2 && std::has_single_bit(capacity), "a ring's capacity is a power of two");
    for (std::size_t i = 0; i < capacity; ++i) slots_[i].turn.store(i, std::memory_order_relaxed);
  }

  // False, and counted, when the ring is full. Any thread.
  bool push(const TraceEvent& event) {
    std::uint64_t place = tail_.load(std::memory_order_relaxed);
    for (;;) {
      Slot& slot = slots_[place & mask_];
      const std::uint64_t turn = slot.turn.load(std::memory_order_acquire);
      if (turn == place) {
        if (!tail_.compare_exchange_weak(place, place + 1, std::memory_order_relaxed)) continue;
        slot.event = event;
        slot.turn.store(place + 1, std::memory_order_release);
        return true;
      }
      if (turn < place) {
        dropped_.fetch_add(1, std::memory_order_relaxed);
        return false;
      }
      place = tail_.load(std::memory_order_relaxed);
    }
  }

  // False when there is nothing to read. One thread at a time.
  bool pop(TraceEvent& event) {
    Slot& slot = slots_[head_ & mask_];
    if (slot.turn.load(std::memory_order_acquire) != head_ + 1) return false;
    event = slot.event;
    slot.turn.store(head_ + slots_.size(), std::memory_order_release);
    ++head_;
    return true;
  }

  [[nodiscard]] std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t capacity() const { return slots_.size(); }

 private:
  struct Slot {
    std::atomic<std::uint64_t> turn{0};
    TraceEvent event;
  };

  std::vector<Slot> slots_;
  std::uint64_t mask_;
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  alignas(64) std::uint64_t head_ = 0;
  alignas(64) std::atomic<std::uint64_t> dropped_{0};
};

}  // namespace shoal
