// The member's side of a round: contributions, sums by epoch, updates at the boundary.
#include "runtime/sync/rounds/round_member.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/sync/wire/wire_codec.h"

namespace shoal {

namespace {

[[nodiscard]] bool is_in(const std::vector<RoundId>& rounds, const RoundId& id) {
  return std::find(rounds.begin(), rounds.end(), id) != rounds.end();
}

// True when every wire format can carry it.
[[nodiscard]] bool is_carriable(const TensorBlob& values) {
  const std::span<const float> all(values.as<float>(), static_cast<std::size_t>(values.element_count()));
  return are_within(all, kContributionMax);
}

// Returns 3 where averages of the inner optimiser travel (a delta, exp_avg and exp_avg_sq); otherwise 1, the delta.
[[nodiscard]] std::size_t part_count_of(const SyncConfig& sync) {
  return sync.inner_state == InnerState::kAverage ? 3 : 1;
}

[[nodiscard]] bool is_eager(const SyncConfig& sync) { return sync.outer_update == OuterUpdate::kEager; }

void append(std::vector<AddressedPart>& parts, std::vector<AddressedPart> more) {
  std::move(more.begin(), more.end(), std::back_inserter(parts));
}

}  // namespace

RoundMember::RoundMember(RoundMemberSetup setup)
    : setup_(std::move(setup)),
      schedule_(setup_.sync),
      feedback_(part_count_of(setup_.sync)),
      missed_(setup_.self, setup_.branch),
      kept_(setup_.self, setup_.branch) {}

void RoundMember::start_at(std::uint64_t version) {
  version_ = started_at_ = version;
  boundary_ = {};
  weights_.clear();
  feedback_.forget();
  missed_.clear();
  kept_.forget_means();
  rounds_.clear();
}

void RoundMember::trained(std::uint64_t tokens, std::uint64_t tokens_of_stage) {
  weights_.trained(tokens, tokens_of_stage, schedule_.fragment_count());
}

void RoundMember::reach(std::uint64_t version) {
  ENSURE(!is_at_boundary() && version > version_, "a boundary follows a step, and is left before the next one");
  version_ = version;
  kept_.forget_means();
  const auto contributions = schedule_.contributions_at(version);
  for (const RoundId& id : contributions) rounds_[id].contributed_at = version;
  boundary_.reach(contributions, schedule_.due_at(version));
}

void RoundMember::close() {
  for (const RoundId& id : schedule_.in_flight_after(version_)) {
    if (!is_done(id)) boundary_.add_update(id);
  }
}

RoundAnswers RoundMember::contributed(TensorBlob values) {
  const auto id = wanted_contribution();
  ENSURE(id && values.dtype == DType::kFloat32, "a contribution that was wanted, float32");
  Round& round = rounds_[*id];
  round.values = std::move(values);
  if (!round.has_joined_since) round.tokens = weights_.contribute(id->fragment, is_carriable(*round.values));
  RoundAnswers answers;
  if (round.order) answers.manifests.push_back(manifest_of(round));
  boundary_.contributed();
  return answers;
}

bool RoundMember::is_ready() const {
  const auto is_waited_for = [this](const RoundId& id) {
    const auto found = rounds_.find(id);
    const bool has_mean = found != rounds_.end() && found->second.is_agreed && !found->second.is_missed;
    return id.number != 0 && !is_done(id) && !has_mean;
  };
  return is_at_boundary() && !wanted_contribution() && std::ranges::none_of(boundary_.updates(), is_waited_for);
}

// Without a mean (none yet, one that was applied at the end of an earlier part of the run, or one of nobody's tokens)
// only what goes ahead of its mean, or behind it, moves.
std::vector<RoundUpdate> RoundMember::updates() const {
  std::vector<RoundUpdate> made;
  if (!is_ready()) return made;
  for (const RoundId& id : boundary_.updates()) {
    RoundUpdate update = update_of(id);
    const bool moves = update.mean.has_value() || setup_.sync.outer_update != OuterUpdate::kWait;
    if (moves) made.push_back(std::move(update));
  }
  return made;
}

void RoundMember::updated() {
  for (const RoundId& id : boundary_.leave()) {
    rounds_.erase(id);
    pass_over(id);
  }
  std::erase_if(early_means_, [this](const StepSum& mean) { return !may_be_missed(mean); });
}

RoundUpdate RoundMember::update_of(const RoundId& id) const {
  const RoundTokens newest = weights_.newest(id.fragment);
  RoundUpdate update;
  update.fragment = id.fragment;
  update.round = id.number;
  update.is_closing = id.number != 0 && schedule_.due_version(id) > version_;
  update.newest_weight = static_cast<double>(newest.own);
  const auto found = rounds_.find(id);
  const bool has_mean = found != rounds_.end() && found->second.is_agreed && found->second.total_tokens > 0;
  if (!has_mean) {
    update.total_weight = static_cast<double>(newest.others);
    return update;
  }
  const Round& round = found->second;
  update.mean = round.mean;
  update.own = round.merged;
  update.total_weight = static_cast<double>(round.total_tokens);
  update.own_weight = static_cast<double>(round.tokens);
  return update;
}

bool RoundMember::is_done(const RoundId& id) const {
  const auto found = newest_done_.find(id.fragment);
  return found != newest_done_.end() && id.number <= found->second;
}

// Finds the round that this order is about: one that is open here; one whose step is still to come; one that began
// before this member did. Null: it is over, it is in no plan, or there are as many as the plan has at once.
RoundMember::Round* RoundMember::find_or_open(const OrderId& order) {
  const auto found = rounds_.find(order.round);
  if (found != rounds_.end()) return found->second.contributed_at == order.step.value ? &found->second : nullptr;
  const bool is_to_come = order.step.value > version_;
  const bool is_from_before = order.step.value <= started_at_;
  if (is_done(order.round) || !(is_to_come || is_from_before)) return nullptr;
  if (rounds_.size() >= schedule_.open_max()) return nullptr;
  if (!is_in(schedule_.contributions_at(order.step.value), order.round)) return nullptr;
  Round& round = rounds_[order.round];
  round.contributed_at = order.step.value;
  round.has_joined_since = is_from_before;
  if (is_from_before) boundary_.add_contribution(order.round);
  return &round;
}

Manifest RoundMember::manifest_of(const Round& round) const {
  return Manifest{round.order->order, setup_.self, {}, round.tokens};
}

RoundAnswers RoundMember::hear(const Prepare& order) {
  RoundAnswers answers;
  Round* round = find_or_open(order.order);
  const bool is_stale =
      round == nullptr || round->is_agreed || (round->order && order.order.epoch < round->order->order.epoch);
  if (is_stale) {
    ++stale_orders_;
    return answers;
  }
  if (!round->order || round->order->order.epoch < order.order.epoch) {
    round->order = order;
    round->sum.reset();
    round->reduced.reset();
    round->early.drop_below(order.order.epoch);
  }
  if (round->values) answers.manifests.push_back(manifest_of(*round));
  return answers;
}

RoundAnswers RoundMember::hear(const Reduce& order) {
  RoundAnswers answers;
  const auto found = rounds_.find(order.order.round);
  const auto own_count = std::count(order.members.begin(), order.members.end(), setup_.self);
  const bool is_expected = found != rounds_.end() && found->second.order && found->second.values && own_count == 1 &&
                           found->second.order->order == order.order;
  if (!is_expected) {
    ++stale_orders_;
    return answers;
  }
  Round& round = found->second;
  if (round.sum) {
    answers.marks = round.sum->mark();
    if (round.reduced) answers.reduced.push_back(*round.reduced);
    return answers;
  }
  round.total_tokens = order.token_count;
  ReductionSetup setup{order.order, order.members, setup_.self, setup_.bucket_bytes};
  setup.wire = setup_.sync.wire;
  setup.error_feedback = setup_.sync.error_feedback || is_eager(setup_.sync);
  round.weighed = weighed(order.order.round, round);
  round.sum = std::move(make_reduction(setup_.sync.backend, std::move(setup), round.weighed).value());
  round.news = SumProgress{};
  append(answers.parts, round.sum->begin());
  for (const Part& part : round.early.take(order.order.epoch)) append(answers.parts, round.sum->receive(part));
  conclude(round, answers);
  return answers;
}

RoundAnswers RoundMember::hear(const Part& part) {
  RoundAnswers answers;
  Round* round = find_or_open(part.order);
  const bool is_missed = round != nullptr && round->is_agreed && !round->sum;
  const bool is_stale = round == nullptr || is_missed || (round->order && part.order.epoch < round->order->order.epoch);
  if (is_stale) {
    ++stale_orders_;
  } else if (round->sum && round->order->order.epoch == part.order.epoch) {
    append(answers.parts, round->sum->receive(part));
    conclude(*round, answers);
  } else {
    round->early.hold(part);
  }
  return answers;
}

GroupReduction* RoundMember::find_sum(const RoundId& id) {
  const auto found = rounds_.find(id);
  return found == rounds_.end() ? nullptr : found->second.sum.get();
}

RoundAnswers RoundMember::hear(const PartsSent& mark) {
  RoundAnswers answers;
  const GroupReduction* sum = find_sum(mark.order.round);
  if (sum == nullptr) return answers;
  if (auto question = sum->missing(mark)) answers.questions.push_back(std::move(*question));
  return answers;
}

RoundAnswers RoundMember::hear(const MissingParts& question) {
  RoundAnswers answers;
  GroupReduction* sum = find_sum(question.order.round);
  if (sum == nullptr) return answers;
  SentAgain again = sum->send_again(question);
  answers.parts = std::move(again.parts);
  answers.questions = std::move(again.questions);
  return answers;
}

RoundAnswers RoundMember::hear(const Progress& arriving) {
  const GroupReduction* sum = find_sum(arriving.order.round);
  if (sum != nullptr && sum->order() == arriving.order) rounds_.at(arriving.order.round).news.piece_came();
  return {};
}

std::vector<Progress> RoundMember::news(Instant now) {
  std::vector<Progress> all;
  for (auto& [id, round] : rounds_) {
    if (!round.sum || round.reduced) continue;
    if (auto news = round.news.of(*round.sum, setup_.self, now)) all.push_back(std::move(*news));
  }
  return all;
}

float RoundMember::share_of(const Round& round) const {
  if (round.total_tokens == 0) return 0;
  return static_cast<float>(static_cast<double>(round.tokens) / static_cast<double>(round.total_tokens));
}

// share * values: the shares of a sum's members add up to 1, so that the sum is the mean.
TensorBlob RoundMember::weighed(const RoundId& id, const Round& round) const {
  const TensorBlob& values = *round.values;
  const float share = share_of(round);
  auto bytes = std::make_shared<AlignedBuffer>(values.byte_count());
  const auto* from = values.as<float>();
  auto* to = reinterpret_cast<float*>(bytes->data());
  const auto count = static_cast<std::size_t>(values.element_count());
  for (std::size_t i = 0; i < count; ++i) to[i] = share == 0.0F ? 0.0F : share * from[i];
  const TensorBlob own{DType::kFloat32, values.shape, std::move(bytes)};
  return share == 0.0F ? own : feedback_.corrected(schedule_.feedback_chain(id), own);
}

// Returns what the sum has of this member: the weighed values, corrected by what encoding left out before, less what it
// left out now: nothing in a sum of one member, which is not encoded. None: the values as they are.
TensorBlob RoundMember::merged_values(const RoundId& id, const Round& round) const {
  const TensorBlob left_out = round.sum->residual();
  const bool is_changed = left_out.has_value() || feedback_.corrects(schedule_.feedback_chain(id));
  const float share = share_of(round);
  if (!is_eager(setup_.sync) || !is_changed || share == 0.0F) return {};
  const TensorBlob& own = round.weighed;
  auto bytes = std::make_shared<AlignedBuffer>(own.byte_count());
  auto* to = reinterpret_cast<float*>(bytes->data());
  const auto count = static_cast<std::size_t>(own.element_count());
  const auto* from = own.as<float>();
  const auto* lost = left_out.has_value() ? left_out.as<float>() : nullptr;
  for (std::size_t i = 0; i < count; ++i) to[i] = (from[i] - (lost == nullptr ? 0.0F : lost[i])) / share;
  return {DType::kFloat32, own.shape, std::move(bytes)};
}

void RoundMember::conclude(Round& round, RoundAnswers& answers) const {
  if (round.reduced || !round.sum->is_complete()) return;
  round.reduced = Reduced{round.order->order, setup_.self, digest_of_mean(round.sum->sum()), {}};
  answers.reduced.push_back(*round.reduced);
}

std::optional<std::string> RoundMember::follow(const CommitRound& entry, std::size_t member_count) {
  if (is_done(entry.round)) return std::nullopt;
  const auto found = rounds_.find(entry.round);
  const bool holds_sum = found != rounds_.end() && found->second.reduced &&
                         found->second.reduced->order.epoch == entry.epoch &&
                         found->second.reduced->digest == entry.digest;
  const auto is_own = [this](const RoundShare& share) { return share.member == setup_.self; };
  if (!entry.shares.empty() && std::none_of(entry.shares.begin(), entry.shares.end(), is_own)) {
    miss(entry);
    return std::nullopt;
  }
  if (!holds_sum) {
    return compose("the journal commits round ", entry.round.number, " of fragment ", entry.round.fragment,
                   " in epoch ", entry.epoch, ", of which this replica has no mean (P-24)");
  }
  Round& round = found->second;
  round.is_agreed = true;
  round.mean = round.sum->sum();
  round.merged = merged_values(entry.round, round);
  if (entry.shares.size() < member_count) kept_.keep(entry, round.mean);
  const bool was_merged = round.tokens > 0;  // otherwise nothing of it was encoded
  if (was_merged && setup_.sync.error_feedback) {
    feedback_.keep(schedule_.feedback_chain(entry.round), round.sum->residual());
  }
  return std::nullopt;
}

// Whatever it contributed is in no sum that counts: what encoding left out before stays for the chain's next round.
void RoundMember::miss(const CommitRound& entry) {
  Round& round = rounds_[entry.round];
  round.contributed_at = entry.step.value;
  round.values.reset();
  round.tokens = 0;
  round.total_tokens = 0;
  for (const RoundShare& share : entry.shares) round.total_tokens += share.token_count;
  round.order.reset();
  round.sum.reset();
  round.reduced.reset();
  round.early.clear();
  round.is_agreed = round.is_missed = true;
  missed_.add(entry);
  for (const StepSum& mean : std::exchange(early_means_, {})) hear(mean);
}

void RoundMember::hear(const StepSum& mean) {
  if (const auto round = missed_.take(mean)) {
    rounds_.at(*round).mean = mean.values;
    rounds_.at(*round).is_missed = false;
  } else if (may_be_missed(mean) && std::ranges::find(early_means_, mean) == early_means_.end()) {
    early_means_.push_back(mean);
    if (early_means_.size() > schedule_.fragment_count()) early_means_.pop_front();
  } else {
    ++stale_orders_;
  }
}

// The entry of a round that it may be the mean of is still to come here.
bool RoundMember::may_be_missed(const StepSum& mean) const {
  return std::ranges::any_of(schedule_.contributions_at(mean.step.value), [this](const RoundId& id) {
    const auto found = rounds_.find(id);
    return !is_done(id) && (found == rounds_.end() || !found->second.is_agreed);
  });
}

std::optional<std::string> RoundMember::lost(Incarnation member) {
  kept_.forget(member);
  return missed_.lost(member);
}

void RoundMember::pass_over(const RoundId& round) {
  newest_done_[round.fragment] = std::max(newest_done_[round.fragment], round.number);
}

void RoundMember::pass_over_until(std::uint64_t version) {
  for (const RoundId& round : schedule_.in_flight_after(version)) pass_over(round);
}

std::size_t RoundMember::early_parts() const {
  std::size_t most = 0;
  for (const auto& [id, round] : rounds_) most = std::max(most, round.early.size());
  return most;
}

}  // namespace shoal
