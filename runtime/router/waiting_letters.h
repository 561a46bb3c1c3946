// Letters that wait: for a link to their process, for room in its lane, for a copy of their tensors. They go in their
// order: letters on the way of one that waits (lanes/letter_way.h) wait behind it.
//
// Bounded in bytes over all absent processes, those without a link, and one letter more, however large; what waits on a
// link that breaks comes to that. The room is shared: a letter for a process that has little of it takes the place of
// the newest ones for the process that has most. What there is no room for is lost; the protocol's retries make that
// safe. Letters that are never repeated, such as the order to start a replica, are kept all the same: else the replica
// would be waited for without end. What waits for a process that is linked costs nobody else room. Its sender bounds
// it: microbatches by credits, parts, pieces and sums by what may be under way and unconfirmed (BOUNDS.md). What a
// process says of itself now is not kept for later: of its Joins only the newest waits, its heartbeats not at all.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "messages/letter.h"

namespace shoal {

class WaitingLetters {
 public:
  using IsLinked = std::function<bool(ProcessIncarnation)>;
  struct Added {
    bool is_kept = true;
    std::size_t bytes_before = 0;    // for absent processes, if it is for one and may be lost
    std::vector<Letter> gave_way{};  // letters that were kept before, and are lost
  };
  explicit WaitingLetters(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  [[nodiscard]] Added add(ProcessIncarnation process, Letter letter, const IsLinked& is_linked);
  [[nodiscard]] bool has_any(ProcessIncarnation process) const { return waiting_.contains(process); }
  // Offers those for this process, in order, to `take`, which says whether it took one; once it refuses one of a way,
  // nothing later of that way is offered.
  void offer(ProcessIncarnation process, const std::function<bool(Letter&)>& take);
  // Gives up those that `is_kept` refuses; it may change a letter, and how much memory that takes.
  void keep_those(const std::function<bool(Letter&)>& is_kept);
  // Gives up those for this process. How many there were.
  std::size_t drop(ProcessIncarnation process);
  [[nodiscard]] std::vector<ProcessIncarnation> processes() const;
  // Memory of what waits for absent processes.
  [[nodiscard]] std::size_t bytes(const IsLinked& is_linked) const;

 private:
  struct Share {
    std::deque<Letter> letters;  // never empty
    std::size_t bytes = 0;
  };

  void drop_joins(ProcessIncarnation process);
  [[nodiscard]] std::size_t bytes_of(ProcessIncarnation process) const;
  // bytes: for absent processes, before and after.
  [[nodiscard]] std::vector<Letter> make_room(std::size_t& bytes, std::size_t wanted_by_one, const IsLinked& is_linked);

  std::size_t bytes_max_;
  std::map<ProcessIncarnation, Share> waiting_;
};

// Memory a letter holds: its tensors, what else of it a peer can make long, and a small constant for the rest.
[[nodiscard]] std::size_t memory_of(const Letter& letter);

}  // namespace shoal
