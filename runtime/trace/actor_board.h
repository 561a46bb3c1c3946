// State of the actors of a process: what `shoal ps` shows of them.
//
//   actor: mailbox size, in its ticks ──▶ ActorPulse ◀── router: which message it handed over, and when
//                                             │
//                       node agent, supervisor: ActorBoard::list() ──▶ heartbeats, status
//
// A pulse is a few atomics: writing never waits. The board keeps one line per name, so that a name that is entered
// again counts as a restart; an actor that ended for good is taken off with forget().
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "messages/supervision.h"
#include "runtime/base/clock.h"

namespace shoal {

class ActorPulse {
 public:
  explicit ActorPulse(std::uint64_t incarnation) : incarnation_(incarnation) {}

  // `message` lives as long as the program: the name of a message's type.
  void heard(std::string_view message, Instant now);
  // Messages that wait; only the actor itself can tell.
  void waiting(std::size_t count) { mailbox_.store(static_cast<std::uint32_t>(count), std::memory_order_relaxed); }

 private:
  friend class ActorBoard;
  const std::uint64_t incarnation_;
  std::atomic<std::uint32_t> mailbox_{0};
  std::atomic<const char*> message_{""};
  std::atomic<Instant::rep> heard_at_{0};  // 0: nothing yet
};

class ActorBoard {
 public:
  // Adds a line for an actor; the actor is down once nobody holds its pulse any more.
  [[nodiscard]] std::shared_ptr<ActorPulse> enter(const std::string& name, std::uint64_t incarnation = 0);
  void forget(const std::string& name);
  // Adds a line for something beside the actors, in this state, until it is forgotten.
  void note(const std::string& name, const std::string& state);
  // "running" or "down", or as noted; by name.
  [[nodiscard]] std::vector<ActorHealth> list(Instant now) const;

 private:
  struct Line {
    std::weak_ptr<ActorPulse> pulse;
    std::uint64_t incarnation = 0;
    std::uint32_t entered = 0;
    std::string noted{};  // its state; empty: that of the pulse
  };
  mutable std::mutex mutex_;
  std::map<std::string, Line> lines_;
};

// Returns the pulse of a new line; without a board (a test, a simulation) the pulse is nobody's.
[[nodiscard]] std::shared_ptr<ActorPulse> enter(const std::shared_ptr<ActorBoard>& board, const std::string& name,
                                                std::uint64_t incarnation = 0);

}  // namespace shoal
