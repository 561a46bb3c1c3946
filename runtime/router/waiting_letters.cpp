// Letters that wait, by the process that they are for; the newest for whoever has most give way.
#include "runtime/router/waiting_letters.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <variant>

#include "messages/catalogue/facts.h"
#include "runtime/transport/lanes/letter_way.h"

namespace shoal {
namespace {

bool is_said_again(const Letter& letter) { return facts_of(letter.body).when_lost == WhenLost::kAgain; }

}  // namespace

std::size_t memory_of(const Letter& letter) {
  constexpr std::size_t kEnvelope = 1024;
  constexpr std::size_t kPastBytes = std::size_t{128} << 10U;  // most of it totals (view.h); lost samples are more
  std::size_t memory = kEnvelope + tensor_bytes(letter.body);
  if (const auto* entries = std::get_if<JournalEntries>(&letter.body)) {
    memory += entries->entries.size() * sizeof(JournalEntry) + (entries->past ? kPastBytes : 0);
  }
  if (const auto* forward = std::get_if<Forward>(&letter.body)) memory += forward->path.size() * sizeof(Incarnation);
  if (const auto* backward = std::get_if<Backward>(&letter.body)) memory += backward->trail.size() * sizeof(Hop);
  return memory;
}

WaitingLetters::Added WaitingLetters::add(ProcessIncarnation process, Letter letter, const IsLinked& is_linked) {
  Added added;
  if (std::holds_alternative<Heartbeat>(letter.body)) return added;
  if (std::holds_alternative<Join>(letter.body)) drop_joins(process);
  const std::size_t memory = memory_of(letter);
  if (!is_linked(process) && is_said_again(letter)) {
    added.bytes_before = bytes(is_linked);
    if (added.bytes_before >= bytes_max_) {
      added.gave_way = make_room(added.bytes_before, bytes_of(process) + memory, is_linked);
    }
    added.is_kept = added.bytes_before < bytes_max_;
  }
  if (!added.is_kept) return added;
  Share& share = waiting_[process];
  share.letters.push_back(std::move(letter));
  share.bytes += memory;
  return added;
}

// Takes the newest letters for the absent process that has most, if that is more than who wants room would have.
std::vector<Letter> WaitingLetters::make_room(std::size_t& bytes, std::size_t wanted_by_one,
                                              const IsLinked& is_linked) {
  std::vector<Letter> lost;
  auto most = waiting_.end();
  for (auto share = waiting_.begin(); share != waiting_.end(); ++share) {
    if (is_linked(share->first)) continue;
    if (most == waiting_.end() || share->second.bytes > most->second.bytes) most = share;
  }
  if (most == waiting_.end() || most->second.bytes <= wanted_by_one) return lost;
  auto& letters = most->second.letters;
  while (bytes >= bytes_max_) {
    const auto newest = std::find_if(letters.rbegin(), letters.rend(), is_said_again);
    if (newest == letters.rend()) break;
    const std::size_t memory = memory_of(*newest);
    most->second.bytes -= memory;
    bytes -= memory;
    lost.push_back(std::move(*newest));
    letters.erase(std::next(newest).base());
  }
  if (letters.empty()) waiting_.erase(most);
  return lost;
}

std::size_t WaitingLetters::bytes_of(ProcessIncarnation process) const {
  const auto found = waiting_.find(process);
  return found == waiting_.end() ? 0 : found->second.bytes;
}

std::size_t WaitingLetters::bytes(const IsLinked& is_linked) const {
  std::size_t bytes = 0;
  for (const auto& [process, share] : waiting_) bytes += is_linked(process) ? 0 : share.bytes;
  return bytes;
}

void WaitingLetters::drop_joins(ProcessIncarnation process) {
  const auto found = waiting_.find(process);
  if (found == waiting_.end()) return;
  Share& share = found->second;
  std::erase_if(share.letters, [&share](const Letter& letter) {
    if (!std::holds_alternative<Join>(letter.body)) return false;
    share.bytes -= memory_of(letter);
    return true;
  });
  if (share.letters.empty()) waiting_.erase(found);
}

void WaitingLetters::offer(ProcessIncarnation process, const std::function<bool(Letter&)>& take) {
  const auto found = waiting_.find(process);
  if (found == waiting_.end()) return;
  Share& share = found->second;
  std::set<LetterWay> full;
  std::deque<Letter> left;
  for (Letter& letter : share.letters) {
    const LetterWay way = way_of(letter.body);
    const std::size_t memory = memory_of(letter);
    if (!full.contains(way) && take(letter)) {
      share.bytes -= memory;
      continue;
    }
    full.insert(way);
    left.push_back(std::move(letter));
  }
  share.letters = std::move(left);
  if (share.letters.empty()) waiting_.erase(found);
}

void WaitingLetters::keep_those(const std::function<bool(Letter&)>& is_kept) {
  for (auto& [process, share] : waiting_) {
    std::size_t& bytes = share.bytes;
    std::erase_if(share.letters, [&](Letter& letter) {
      bytes -= memory_of(letter);
      const bool stays = is_kept(letter);
      if (stays) bytes += memory_of(letter);
      return !stays;
    });
  }
  std::erase_if(waiting_, [](const auto& one) { return one.second.letters.empty(); });
}

std::size_t WaitingLetters::drop(ProcessIncarnation process) {
  const auto found = waiting_.find(process);
  if (found == waiting_.end()) return 0;
  const std::size_t count = found->second.letters.size();
  waiting_.erase(found);
  return count;
}

std::vector<ProcessIncarnation> WaitingLetters::processes() const {
  std::vector<ProcessIncarnation> all;
  for (const auto& [process, share] : waiting_) all.push_back(process);
  return all;
}

}  // namespace shoal
