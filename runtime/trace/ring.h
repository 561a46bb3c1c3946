// A bounded queue of trace events: any number of producers, one consumer at a time, no allocation after construction.
//
// A full ring refuses and counts; it never waits and never overwrites (S-6: the bound is the capacity). Each slot
// carries the number of the turn in which it may be written or read (D. Vyukov's bounded queue), so that a producer
// that is descheduled between taking a slot and filling it delays the consumer at that slot and nobody else.
// The consumer reads first and releases what it has put into safety: what is not released is still in the ring's memory
// (ring_memory.h), also after SIGKILL. A ring whose events nobody can keep any more is closed: it counts them, and its
// file is free.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "runtime/base/ensure.h"
#include "runtime/trace/event.h"
#include "runtime/trace/ring_memory.h"

namespace shoal {

class TraceRing {
 public:
  // Slots: a power of two, at least 2 (ENSURE).
  explicit TraceRing(RingMemory memory)
      : memory_(std::move(memory)), slots_(memory_.slots()), mask_(slots_.size() - 1) {
    ENSURE(slots_.size() >= 2 && std::has_single_bit(slots_.size()), "a ring's capacity is a power of two");
    for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].turn.store(i, std::memory_order_relaxed);
  }

  // False, and counted, when the ring is full or closed. Any thread.
  bool push(const TraceEvent& event) {
    if (is_closed_.load(std::memory_order_relaxed)) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    std::uint64_t place = tail_.load(std::memory_order_relaxed);
    for (;;) {
      RingSlot& slot = slots_[place & mask_];
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

  // The event that many places behind the oldest; nullptr when there is none yet. One thread at a time.
  [[nodiscard]] const TraceEvent* peek(std::size_t ahead) const {
    if (ahead >= slots_.size()) return nullptr;
    const std::uint64_t place = head_ + ahead;
    const RingSlot& slot = slots_[place & mask_];
    return slot.turn.load(std::memory_order_acquire) == place + 1 ? &slot.event : nullptr;
  }
  // The oldest `count` events, all of which were peeked at, make room.
  void release(std::size_t count) {
    for (; count > 0; --count, ++head_) {
      slots_[head_ & mask_].turn.store(head_ + slots_.size(), std::memory_order_release);
    }
  }

  // From now on all events are counted and none is kept; so are those that it holds. What a thread pushes meanwhile may
  // miss the count. By the consumer.
  void close() {
    if (is_closed_.exchange(true)) return;
    const std::uint64_t tail = tail_.load();
    dropped_.fetch_add(tail - std::exchange(head_, tail), std::memory_order_relaxed);
    memory_.give_file_back();
  }

  [[nodiscard]] bool is_closed() const { return is_closed_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t capacity() const { return slots_.size(); }

 private:
  RingMemory memory_;
  std::span<RingSlot> slots_;
  std::uint64_t mask_;
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  alignas(64) std::uint64_t head_ = 0;
  alignas(64) std::atomic<std::uint64_t> dropped_{0};
  std::atomic<bool> is_closed_{false};
};

}  // namespace shoal
