// The requests of an observed run's routers, and of whom they ask them: P-11, P-12, P-13.
//
// A router sends a Forward to the replica that its path names, and again to that one. It takes another one only after a
// refusal that says why, after the removal of the one before, or after three questions; where the link broke, a trace
// does not show the questions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

#include "tests/protocol/observed/letter.h"
#include "tests/protocol/observed/standing.h"

namespace shoal::observed {

class Requests {
 public:
  explicit Requests(const Standings& journal) : journal_(&journal) {}

  // life: of the process whose router it is. end: of the journal by now.
  [[nodiscard]] std::optional<Objection> send(std::uint32_t life, const Letter& letter, JournalPosition end);
  // Takes what comes back: answers and refusals.
  void hear(std::uint32_t life, const Letter& letter);
  // The requester of that stage was emptied, and its router told (P-16b), or another one takes its place.
  void forget(std::uint32_t life, StageId requester);
  // The link to a process broke: nobody knows what a hop there was asked.
  void lose_link(std::uint32_t life, ProcessIncarnation process, JournalPosition end);

 private:
  static constexpr std::uint32_t kFrozenMax = 3;  // refusals before another hop is tried
  static constexpr std::uint32_t kAsksMin = 3;    // questions before a hop is given up

  struct Request {
    Incarnation hop;
    std::uint32_t frozen = 0, asks = 0;
    bool is_refused = false;  // by the hop, or its link broke, so that another may be taken
  };
  using Key = std::tuple<std::uint32_t, std::uint32_t, Branch, StepId, MicrobatchId>;  // life, hop, ...

  static Key key_of(std::uint32_t life, const Cause& cause) {
    return {life, cause.hop, cause.branch, cause.step, cause.microbatch};
  }
  [[nodiscard]] bool may_change(const Request& request, const Letter& letter, JournalPosition end) const;
  [[nodiscard]] bool was_member(Incarnation replica, const Letter& letter, JournalPosition end) const;

  const Standings* journal_;
  std::map<Key, Request> requests_;
};

}  // namespace shoal::observed
