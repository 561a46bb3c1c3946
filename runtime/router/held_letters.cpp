// The newest letters give way: what stays of a process is what its receivers can use first.
#include "runtime/router/held_letters.h"

#include <algorithm>
#include <utility>

#include "runtime/router/waiting_letters.h"

namespace shoal {

std::vector<Letter> HeldLetters::add(Held held, JournalPosition position) {
  std::vector<Letter> lost;
  const ProcessIncarnation sender = held.letter.from;
  const std::size_t bytes = memory_of(held.letter);
  const auto most = std::ranges::max_element(shares_, {}, [](const auto& share) { return share.second.bytes; });
  const bool has_more = most != shares_.end() && most->second.bytes > bytes_of(sender) + bytes;
  if (bytes > bytes_max_ - bytes_ && !has_more) {
    lost.push_back(std::move(held.letter));
    return lost;
  }
  // It holds more bytes than are to be freed, so it has letters for as long as this lasts.
  while (bytes > bytes_max_ - bytes_) {
    Share& share = most->second;
    share.bytes -= share.letters.back().bytes;
    bytes_ -= share.letters.back().bytes;
    lost.push_back(std::move(share.letters.back().held.letter));
    share.letters.pop_back();
  }
  if (most != shares_.end() && most->second.letters.empty()) shares_.erase(most);
  Share& share = shares_[sender];
  share.letters.push_back({std::move(held), position, bytes});
  share.bytes += bytes;
  bytes_ += bytes;
  return lost;
}

std::size_t HeldLetters::bytes_of(ProcessIncarnation process) const {
  const auto found = shares_.find(process);
  return found == shares_.end() ? 0 : found->second.bytes;
}

std::vector<HeldLetters::Held> HeldLetters::take_up_to(JournalPosition position) {
  std::vector<Held> due;
  for (auto& [process, share] : shares_) {
    std::erase_if(share.letters, [&](Waiting& waiting) {
      if (waiting.position > position) return false;
      share.bytes -= waiting.bytes;
      bytes_ -= waiting.bytes;
      due.push_back(std::move(waiting.held));
      return true;
    });
  }
  std::erase_if(shares_, [](const auto& share) { return share.second.letters.empty(); });
  return due;
}

std::vector<Letter> HeldLetters::take_of_absent(const std::function<bool(ProcessIncarnation)>& is_there) {
  std::vector<Letter> lost;
  for (auto& [process, share] : shares_) {
    if (is_there(process)) continue;
    bytes_ -= share.bytes;
    for (Waiting& waiting : share.letters) lost.push_back(std::move(waiting.held.letter));
    share.letters.clear();
  }
  std::erase_if(shares_, [](const auto& share) { return share.second.letters.empty(); });
  return lost;
}

}  // namespace shoal
