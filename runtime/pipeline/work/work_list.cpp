// Moves microbatches between the parts of the list.
#include "runtime/pipeline/work/work_list.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "runtime/base/ensure.h"

namespace shoal {

const WorkItem& WorkList::at(MicrobatchId microbatch) const {
  ENSURE(has(microbatch), "a microbatch of the list");
  ++looks_;
  return items_[microbatch.value];
}

WorkItem& WorkList::item(MicrobatchId microbatch) {
  ENSURE(has(microbatch), "a microbatch of the list");
  ++looks_;
  return items_[microbatch.value];
}

std::optional<MicrobatchId> WorkList::first_waiting(std::size_t sort) {
  for (std::size_t& first = first_[sort]; first < items_.size(); first += first_.size()) {
    const MicrobatchId microbatch{static_cast<std::uint32_t>(first)};
    if (at(microbatch).state == WorkState::kWaiting) return microbatch;
  }
  return std::nullopt;
}

// A refusal holds for the sort until the next offer, so each sort has one microbatch in the queue, its first. None that
// has left waits again, so the first of a sort only moves up.
void WorkList::offer(std::size_t sorts, const std::function<Offered(MicrobatchId)>& take) {
  sorts = std::clamp<std::size_t>(sorts, 1, std::max<std::size_t>(items_.size(), 1));
  if (first_.size() != sorts) {
    first_.resize(sorts);
    for (std::size_t sort = 0; sort < sorts; ++sort) first_[sort] = sort;
  }
  std::priority_queue<MicrobatchId, std::vector<MicrobatchId>, std::greater<>> next;
  for (std::size_t sort = 0; sort < sorts; ++sort) {
    if (const auto first = first_waiting(sort)) next.push(*first);
  }
  while (!next.empty()) {
    const MicrobatchId microbatch = next.top();
    next.pop();
    const Offered offered = take(microbatch);
    if (offered == Offered::kNoMore) return;
    if (offered == Offered::kRefused) continue;
    if (const auto first = first_waiting(microbatch.value % sorts)) next.push(*first);
  }
}

void WorkList::plan(MicrobatchId microbatch, std::vector<Incarnation> path, std::vector<std::string_view> reasons) {
  WorkItem& planned = item(microbatch);
  ENSURE(planned.state == WorkState::kWaiting, "what is in flight keeps its path");
  planned.path = std::move(path);
  planned.reasons = std::move(reasons);
}

void WorkList::sent(MicrobatchId microbatch, std::uint64_t target_bytes, Instant now) {
  WorkItem& sent = item(microbatch);
  sent.sent = now;
  sent.target_bytes = target_bytes;
  if (sent.state == WorkState::kInFlight) return;
  ENSURE(sent.state == WorkState::kWaiting, "only what has no answer is sent");
  enter_flight(microbatch, sent);
}

void WorkList::answered(MicrobatchId microbatch, double loss_sum, std::uint64_t token_count) {
  WorkItem& answered = item(microbatch);
  ENSURE(answered.state == WorkState::kInFlight, "an answer to what is in flight");
  leave_flight(microbatch, answered);
  answered.state = WorkState::kAnswered;
  answered.loss_sum = loss_sum;
  answered.token_count = token_count;
  ++settled_;
  if (purpose_ == Purpose::kTrain) return;
  answered.path = {};  // no evaluation is asked for again
  answered.reasons = {};
}

void WorkList::unanswered(MicrobatchId microbatch, Instant due) {
  WorkItem& unanswered = item(microbatch);
  ENSURE(purpose_ == Purpose::kTrain && unanswered.state == WorkState::kAnswered, "an answer that is taken back");
  enter_flight(microbatch, unanswered);
  unanswered.due = due;
  --settled_;
}

void WorkList::left_out(MicrobatchId microbatch) {
  WorkItem& left = item(microbatch);
  ENSURE(left.state != WorkState::kLeftOut, "a microbatch is left out once");
  if (left.state == WorkState::kInFlight) leave_flight(microbatch, left);
  if (left.state != WorkState::kAnswered) ++settled_;
  left.state = WorkState::kLeftOut;
}

void WorkList::replace(StageId stage, Incarnation replica,
                       const std::function<std::optional<Incarnation>(MicrobatchId)>& other) {
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const MicrobatchId microbatch{static_cast<std::uint32_t>(i)};
    WorkItem& replaced = item(microbatch);
    if (replaced.path.size() <= stage.value || replaced.path[stage.value] != replica) continue;
    const auto takes_over = other(microbatch);
    if (!takes_over) continue;
    replaced.path[stage.value] = *takes_over;
    if (replaced.state != WorkState::kInFlight) continue;
    give_back(stage.value, replica);
    ++held_[stage.value][*takes_over];
  }
}

void WorkList::enter_flight(MicrobatchId microbatch, WorkItem& item) {
  item.state = WorkState::kInFlight;
  in_flight_.insert(microbatch);
  held_.resize(std::max(held_.size(), item.path.size()));
  for (std::size_t stage = 0; stage < item.path.size(); ++stage) ++held_[stage][item.path[stage]];
}

void WorkList::leave_flight(MicrobatchId microbatch, const WorkItem& item) {
  in_flight_.erase(microbatch);
  for (std::size_t stage = 0; stage < item.path.size(); ++stage) give_back(stage, item.path[stage]);
}

void WorkList::give_back(std::size_t stage, Incarnation replica) {
  const auto held = held_[stage].find(replica);
  if (--held->second == 0) held_[stage].erase(held);
}

}  // namespace shoal
