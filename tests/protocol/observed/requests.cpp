// One entry per requester and microbatch of a step, as in the router's own table.
#include "tests/protocol/observed/requests.h"

#include "messages/pipeline.h"
#include "runtime/base/compose.h"

namespace shoal::observed {

// The router may stand anywhere between where the sender stood and the end of the journal.
bool Requests::was_member(Incarnation replica, const Letter& letter, JournalPosition end) const {
  for (std::uint64_t position = letter.cause.position.value; position <= end.value; ++position) {
    if (journal_->at(JournalPosition{position}).is_member(replica, letter.stage())) return true;
  }
  return false;
}

bool Requests::may_change(const Request& request, const Letter& letter, JournalPosition end) const {
  const bool is_removed = !journal_->at(end).is_member(request.hop, letter.stage());
  return request.is_refused || is_removed || request.asks >= kAsksMin;
}

std::optional<Objection> Requests::send(std::uint32_t life, const Letter& letter, JournalPosition end) {
  if (letter.is_evaluation) return std::nullopt;
  const auto [place, is_new] = requests_.try_emplace(key_of(life, letter.cause), Request{letter.subject});
  Request& request = place->second;
  if (letter.kind == Kind::kAsk) {
    ++request.asks;
    return std::nullopt;
  }
  if (!was_member(letter.subject, letter, end)) {
    return Objection{"P-10", compose("sends a Forward to replica ", letter.subject, ", which is no member of stage ",
                                     letter.cause.hop)};
  }
  if (request.hop == letter.subject) return std::nullopt;
  if (!may_change(request, letter, end)) {
    return Objection{"P-13", compose("sends a Forward to replica ", letter.subject, " while replica ", request.hop,
                                     " has neither refused it nor left")};
  }
  request.hop = letter.subject;
  request.asks = 0;
  request.is_refused = false;
  return std::nullopt;
}

void Requests::hear(std::uint32_t life, const Letter& letter) {
  const auto found = requests_.find(key_of(life, letter.cause));
  if (found == requests_.end()) return;
  Request& request = found->second;
  if (letter.kind == Kind::kBackward) request.frozen = 0;
  if (letter.kind != Kind::kRefusal) return;
  const bool is_frozen = letter.reason == to_text(RefusalReason::kFrozen);
  if (is_frozen) ++request.frozen;
  const bool says_where_not = letter.reason == to_text(RefusalReason::kFenced) ||
                              letter.reason == to_text(RefusalReason::kNotMember) ||
                              letter.reason == to_text(RefusalReason::kUnknownReplica);
  request.is_refused |= says_where_not || request.frozen > kFrozenMax;
}

void Requests::lose_link(std::uint32_t life, ProcessIncarnation process, JournalPosition end) {
  const auto& members = journal_->at(end).members;
  for (auto& [key, request] : requests_) {
    const auto hop = members.find(request.hop);
    const bool is_there = hop != members.end() && hop->second.process == process;
    if (std::get<0>(key) == life && is_there) request.is_refused = true;
  }
}

void Requests::forget(std::uint32_t life, StageId requester) {
  std::erase_if(requests_, [&](const auto& known) {
    return std::get<0>(known.first) == life && std::get<1>(known.first) == requester.value + 1;
  });
}

}  // namespace shoal::observed
