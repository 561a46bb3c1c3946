// P-15, P-18, P-31, P-34 of a member's rounds.
#include "tests/protocol/observed/member_rounds.h"

#include "runtime/base/compose.h"

namespace shoal::observed {

void MemberRounds::take(const Letter& letter) {
  if (letter.kind == Kind::kStepSum) means_.insert(letter.cause.step);
  if (!letter.round) return;
  const Order order{*letter.round, letter.cause.attempt};
  if (letter.kind == Kind::kPrepare) {
    prepares_.insert(order);
    is_asked_for_before_ |= letter.cause.step.value <= started_;
  }
  if (letter.kind == Kind::kReduce) reduces_.insert(order);
}

void MemberRounds::end_job(std::string_view word) {
  if (word == "apply") ++version_;
  if (word == "contribute_round") ++contributions_[version_];
}

std::optional<Objection> MemberRounds::say(const Letter& letter) {
  const Order order{*letter.round, letter.cause.attempt};
  if (letter.kind == Kind::kManifest) {
    if (!prepares_.contains(order)) {
      return Objection{"P-15", "gives a manifest for an order of a round that it has not heard"};
    }
    return contribute(letter);
  }
  if (!reduces_.contains(order)) {
    return Objection{"P-15", "takes part in a mean of an order of a round that it has not heard"};
  }
  return std::nullopt;
}

// P-31: a contribution is taken once, at the boundary of its step; whoever came later takes one without tokens.
std::optional<Objection> MemberRounds::contribute(const Letter& letter) {
  const std::uint64_t step = letter.cause.step.value;
  const bool is_from_before = step <= started_;
  std::set<RoundId>& said = contributed_to_[is_from_before ? 0 : step];
  said.insert(*letter.round);
  std::size_t taken = 0;
  for (const auto& [version, count] : contributions_) taken += is_from_before || version == step ? count : 0;
  if (taken >= said.size()) return std::nullopt;
  return Objection{"P-31", compose("names a contribution after ", step, " steps that it has not taken there")};
}

}  // namespace shoal::observed
