// Lines are as many as the names of a process: its actors, and the stages it has not forgotten yet.
#include "runtime/trace/actor_board.h"

namespace shoal {

void ActorPulse::heard(std::string_view message, Instant now) {
  message_.store(message.data(), std::memory_order_relaxed);
  heard_at_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
}

std::shared_ptr<ActorPulse> ActorBoard::enter(const std::string& name, std::uint64_t incarnation) {
  auto pulse = std::make_shared<ActorPulse>(incarnation);
  const std::lock_guard guard(mutex_);
  Line& line = lines_[name];
  line.pulse = pulse;
  line.incarnation = incarnation;
  ++line.entered;
  return pulse;
}

void ActorBoard::forget(const std::string& name) {
  const std::lock_guard guard(mutex_);
  lines_.erase(name);
}

void ActorBoard::note(const std::string& name, const std::string& state) {
  const std::lock_guard guard(mutex_);
  Line& line = lines_[name];
  line.noted = state;
  line.entered = 1;
}

std::vector<ActorHealth> ActorBoard::list(Instant now) const {
  std::vector<ActorHealth> found;
  const std::lock_guard guard(mutex_);
  for (const auto& [name, line] : lines_) {
    ActorHealth health{name, line.incarnation, line.noted.empty() ? "down" : line.noted, 0, line.entered - 1, {}, 0};
    if (const auto pulse = line.pulse.lock()) {
      health.state = "running";
      health.mailbox = pulse->mailbox_.load(std::memory_order_relaxed);
      health.last_message = pulse->message_.load(std::memory_order_relaxed);
      const Instant heard{Duration(pulse->heard_at_.load(std::memory_order_relaxed))};
      const bool has_heard = !health.last_message.empty() && heard <= now;
      if (has_heard) health.last_message_ms = static_cast<std::uint64_t>(milliseconds(now - heard));
    }
    found.push_back(std::move(health));
  }
  return found;
}

std::shared_ptr<ActorPulse> enter(const std::shared_ptr<ActorBoard>& board, const std::string& name,
                                  std::uint64_t incarnation) {
  return board ? board->enter(name, incarnation) : std::make_shared<ActorPulse>(incarnation);
}

}  // namespace shoal
