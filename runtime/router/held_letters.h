// Letters that are ahead of this process's journal, until it is there (P-25a): those of one process in their order,
// bounded in bytes over all processes.
//
// The position in a letter is its sender's word, and a false one is never reached. No distance tells the two apart: a
// process that was silent for long may be thousands of entries behind honest ones. So a full room is shared: a letter
// of a process that holds little takes the place of the newest ones of the process that holds most, and nothing stays
// of a process that has left. Whatever is lost here is asked for again: only Forward, Backward and the words about them
// name a position. Pure.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "messages/letter.h"
#include "runtime/base/clock.h"

namespace shoal {

class HeldLetters {
 public:
  struct Held {
    Letter letter;
    Duration transfer{};
  };
  explicit HeldLetters(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // Holds a letter of letter.from, which stood at this position. Returns the letters for which there is no room: those
  // of another process that gave way, or this one.
  [[nodiscard]] std::vector<Letter> add(Held held, JournalPosition position);
  // Takes the letters that are not ahead of a journal at this position.
  [[nodiscard]] std::vector<Held> take_up_to(JournalPosition position);
  // Takes the letters of processes that are not there.
  [[nodiscard]] std::vector<Letter> take_of_absent(const std::function<bool(ProcessIncarnation)>& is_there);

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] bool is_empty() const { return shares_.empty(); }

 private:
  struct Waiting {
    Held held;
    JournalPosition position;
    std::size_t bytes = 0;
  };
  struct Share {
    std::deque<Waiting> letters;  // never empty
    std::size_t bytes = 0;
  };

  [[nodiscard]] std::size_t bytes_of(ProcessIncarnation process) const;

  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::map<ProcessIncarnation, Share> shares_;  // by sender
};

}  // namespace shoal
