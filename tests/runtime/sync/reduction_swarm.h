// All members of one reduction and the parts between them, for tests: delivered in any order, repeated, lost. Whoever
// uses it decides which, so that a printed seed says all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "runtime/base/ensure.h"
#include "runtime/sync/reduction.h"

namespace shoal {

struct ReductionPlan {
  SyncBackend backend = SyncBackend::kRing;
  WireFormat wire = WireFormat::kFp32;
  std::uint32_t members = 1;
  std::size_t bucket_bytes = 1024;
  std::size_t window = 0;
  bool error_feedback = false;
  std::uint32_t epoch = 1;
};

class ReductionSwarm {
 public:
  ReductionSwarm(const ReductionPlan& plan, std::vector<TensorBlob> contributions) {
    std::vector<Incarnation> members;
    for (std::uint32_t at = 0; at < plan.members; ++at) members.push_back(Incarnation{100 + at});
    for (std::uint32_t at = 0; at < plan.members; ++at) {
      ReductionSetup setup{order_of(plan.epoch), members, members[at], plan.bucket_bytes};
      setup.wire = plan.wire;
      setup.window = plan.window;
      setup.error_feedback = plan.error_feedback;
      auto made = make_reduction(plan.backend, std::move(setup), std::move(contributions[at]));
      ENSURE(made.ok(), made.failure().message);
      index_of_[members[at]] = at;
      reductions_.push_back(std::move(*made));
    }
    for (const auto& reduction : reductions_) post(reduction->begin());
  }

  [[nodiscard]] static OrderId order_of(std::uint32_t epoch) {
    return OrderId{RunId{7}, Branch{0}, Term{1}, StageId{0}, StepId{3}, Epoch{Incarnation{9}, epoch}};
  }

  void deliver(std::size_t index) {
    const AddressedPart next = take(index);
    post(member(next.receiver).receive(next.part));
  }
  void lose(std::size_t index) { (void)take(index); }
  void post_again(std::size_t index) { wire_.push_back(wire_[index]); }
  // Makes the members send what the group's repeated order makes them send.
  [[nodiscard]] std::vector<AddressedMark> mark() {
    std::vector<AddressedMark> marks;
    for (const auto& reduction : reductions_) {
      for (AddressedMark& mark : reduction->mark()) marks.push_back(std::move(mark));
    }
    return marks;
  }
  // Hears a mark: questions follow, each answered at once, and parts.
  void hear(const AddressedMark& mark) {
    if (const auto question = member(mark.receiver).missing(mark.mark)) ask(*question);
  }
  void ask(const MissingParts& question) {
    SentAgain again = member(question.holder).send_again(question);
    post(std::move(again.parts));
    for (const MissingParts& next : again.questions) ask(next);
  }
  void repeat() {
    for (const AddressedMark& mark : mark()) hear(mark);
  }
  // The oldest part first, until none is left.
  void settle() {
    while (!wire_.empty()) deliver(0);
  }
  // Any part first, one of four twice. Gives false when there is no end to it.
  [[nodiscard]] bool settle(std::mt19937_64& random) {
    for (int turn = 0; !wire_.empty(); ++turn) {
      if (turn > 200'000) return false;
      const std::size_t index = random() % wire_.size();
      if (random() % 4 == 0) post_again(index);
      deliver(index);
    }
    return true;
  }

  [[nodiscard]] bool is_complete() const {
    return std::all_of(reductions_.begin(), reductions_.end(), [](const auto& one) { return one->is_complete(); });
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }  // size of the values of all parts posted
  [[nodiscard]] std::deque<AddressedPart>& wire() { return wire_; }
  [[nodiscard]] GroupReduction& at(std::size_t index) { return *reductions_[index]; }
  [[nodiscard]] GroupReduction& member(Incarnation incarnation) { return *reductions_[index_of_.at(incarnation)]; }
  [[nodiscard]] std::size_t size() const { return reductions_.size(); }

 private:
  void post(std::vector<AddressedPart> parts) {
    for (AddressedPart& part : parts) {
      bytes_ += part.part.values.byte_count();
      wire_.push_back(std::move(part));
    }
  }
  AddressedPart take(std::size_t index) {
    AddressedPart part = std::move(wire_[index]);
    wire_.erase(wire_.begin() + static_cast<std::ptrdiff_t>(index));
    return part;
  }

  std::vector<std::unique_ptr<GroupReduction>> reductions_;
  std::map<Incarnation, std::size_t> index_of_;
  std::deque<AddressedPart> wire_;
  std::uint64_t bytes_ = 0;
};

}  // namespace shoal
