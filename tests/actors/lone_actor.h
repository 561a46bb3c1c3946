// One actor on CAF's test coordinator, with a router that only keeps what it is given.
//
// Nothing runs by itself: no threads, and time passes by advance() alone. Actors end with the fixture.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include "tests/actors/as_heard.h"

namespace shoal {

struct KeptLetters {
  static inline const char* name = "kept_letters";
  std::shared_ptr<std::vector<Letter>> letters;
};

inline RouterActor::behavior_type keep_letters(RouterActor::stateful_pointer<KeptLetters> self,
                                               std::shared_ptr<std::vector<Letter>> letters) {
  self->state.letters = std::move(letters);
  return {
      [](const Inject&) {},       [self](const Letter& letter) { self->state.letters->push_back(letter); },
      [](const WireFrame&) {},    [](const Attach&) {},
      [](const Detach&) {},       [](const Dialled&) {},
      [](const Identify&) {},     [](const Tick&) {},
      [](const Ping&) {},         [](const LaneLetter&) {},
      [](const LaneChange&) {},   [](const LaneProgress&) {},
      [](const TensorCopied&) {},
  };
}

class LoneActor {
 public:
  LoneActor() {
    config_.set("scheduler.policy", caf::atom("testing"));
    system_ = std::make_unique<caf::actor_system>(config_);
    coordinator_ = dynamic_cast<caf::scheduler::test_coordinator*>(&system_->scheduler());
    coordinator_->clock().current_time += std::chrono::hours(1);
    router_ = system_->spawn(keep_letters, letters_);
  }
  ~LoneActor() {
    for (const auto& actor : actors_) end(actor);
    end(caf::actor_cast<caf::actor>(router_));
    actors_.clear();
    router_ = nullptr;
  }
  LoneActor(const LoneActor&) = delete;
  LoneActor& operator=(const LoneActor&) = delete;

  template <class Behaviour, class Settings>
  auto spawn(Behaviour behaviour, Settings settings) {
    auto actor = system_->spawn(behaviour, std::move(settings));
    actors_.push_back(caf::actor_cast<caf::actor>(actor));
    coordinator_->run();
    return actor;
  }
  template <class Handle, class Message>
  void give(const Handle& actor, const Message& message) {
    caf::anon_send(actor, as_heard(message));
    coordinator_->run();
  }
  // The message comes while what the time brings about is still in the mailbox.
  template <class Handle, class Message>
  void give_at_once(const Handle& actor, std::chrono::milliseconds time, const Message& message) {
    coordinator_->advance_time(time);
    give(actor, message);
  }
  template <class Handle>
  void end(const Handle& actor) {
    caf::anon_send_exit(actor, caf::exit_reason::kill);
    coordinator_->run();
  }
  void advance(std::chrono::milliseconds time) {
    coordinator_->advance_time(time);
    coordinator_->run();
  }

  [[nodiscard]] const RouterActor& router() const { return router_; }
  [[nodiscard]] caf::actor_system& system() { return *system_; }
  template <class Body>
  [[nodiscard]] std::vector<Body> sent() const {
    std::vector<Body> found;
    for (const Letter& letter : *letters_) {
      if (const auto* body = std::get_if<Body>(&letter.body)) found.push_back(*body);
    }
    return found;
  }

 private:
  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  caf::scheduler::test_coordinator* coordinator_ = nullptr;
  std::shared_ptr<std::vector<Letter>> letters_ = std::make_shared<std::vector<Letter>>();
  RouterActor router_;
  std::vector<caf::actor> actors_;
};

}  // namespace shoal
