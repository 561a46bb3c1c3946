// A letter that is dropped here is asked for again by whoever it is owed to, or by whoever takes over.
#include "runtime/router/outgoing_letters.h"

#include "messages/catalogue/facts.h"
#include "runtime/transport/lanes/letter_way.h"

namespace shoal {

void OutgoingLetters::send(Letter letter) {
  const ProcessIncarnation process = letter.to.process;
  int copies = settings_.filter ? settings_.filter(letter) : 1;
  const auto link = links_->link_to(process);
  for (; copies > 0; --copies) {
    if (link && !is_behind_others(letter) && send_over(*link, letter)) continue;
    if (link || links_->is_expected(process)) {
      let_wait(letter);
    } else {
      notes_->drop(letter, Undelivered::Why::kNobody);
    }
  }
}

// False: the lane is full, or its tensors are not on the host yet.
bool OutgoingLetters::send_over(LinkId link, Letter& letter) {
  return residents_of(letter.body).empty() && connections_->send(link, letter);
}

// True while others wait before it: where a link is up, they wait for room in its lane.
bool OutgoingLetters::is_behind_others(const Letter& letter) const {
  return way_of(letter.body) == LetterWay::kLane && waiting_.has_any(letter.to.process);
}

void OutgoingLetters::let_wait(const Letter& letter) {
  const auto is_linked = [this](ProcessIncarnation process) { return links_->link_to(process).has_value(); };
  const WaitingLetters::Added added = waiting_.add(letter.to.process, letter, is_linked);
  (void)kWaitingBytesMax.reached_if(!added.is_kept || !added.gave_way.empty());
  for (const Letter& lost : added.gave_way) notes_->drop(lost, Undelivered::Why::kNoRoom);
  if (!added.is_kept) return notes_->drop(letter, Undelivered::Why::kNoRoom);
  notes_->marks.waiting.note(notes_->trace, added.bytes_before, settings_.waiting_bytes_max);
  for (const auto& tensor : residents_of(letter.body)) {
    if (being_copied_.insert(tensor).second) edge_->copy_to_host(tensor);
  }
}

void OutgoingLetters::copied(const std::shared_ptr<const ResidentTensor>& tensor, const TensorBlob& copy) {
  being_copied_.erase(tensor);
  waiting_.keep_those([&](Letter& letter) {
    const bool is_lost = bring_to_host(letter.body, tensor, copy) && !copy.has_value();
    if (is_lost) notes_->drop(letter, Undelivered::Why::kNotCopied);
    return !is_lost;
  });
  flush();
}

void OutgoingLetters::flush() {
  for (const ProcessIncarnation process : waiting_.processes()) {
    if (!is_there(process)) notes_->undelivered.add(Undelivered::Why::kNobody, waiting_.drop(process));
    const auto link = links_->link_to(process);
    if (link) waiting_.offer(process, [this, link](Letter& letter) { return send_over(*link, letter); });
  }
}

}  // namespace shoal
