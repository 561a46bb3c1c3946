// The joiner's side of a state transfer. A sum is used with its own step's record alone, in order, once.
#include "runtime/sync/state_copy.h"

#include <algorithm>
#include <utility>

namespace shoal {

StateCopy::StateCopy(StateCopySetup setup) : setup_(std::move(setup)) {
  if (setup_.rounds) schedule_.emplace(*setup_.rounds);
}

// True when the state held after `version` steps is no longer what all agree on.
bool StateCopy::has_round_after(std::uint64_t version) const { return newest_round_ > version; }

void StateCopy::follow(const JournalEntry& entry, Instant now) {
  reach(entry.position);
  if (entry.branch != setup_.branch) return;
  if (const auto* added = std::get_if<AddReplica>(&entry.body)) {
    committed_ = std::max(committed_, added->version);
    if (added->stage == setup_.stage) members_.insert(added->replica);
  } else if (const auto* removed = std::get_if<RemoveReplica>(&entry.body)) {
    members_.erase(removed->replica);
  } else if (const auto* commit = std::get_if<Commit>(&entry.body)) {
    if (committed_ == version_) moved_at_ = now;  // from here on its sum is waited for
    record(*commit);
  }
}

void StateCopy::record(const Commit& commit) {
  const auto own = std::find_if(commit.stages.begin(), commit.stages.end(),
                                [this](const StageCommit& stage) { return stage.stage == setup_.stage; });
  FollowedStep step;
  step.step = commit.step;
  step.is_skipped = commit.skip.has_value() || schedule_;
  step.token_count = commit.token_count;
  step.digest = own == commit.stages.end() ? 0 : own->digest;
  step.learning_rate = commit.learning_rate;
  step.clip_scale = commit.clip_scale;
  step.optimizer_step = commit.optimizer_step;
  records_[commit.step.value] = step;
  if (kRecordsMax.is_exceeded_by(records_.size())) records_.erase(records_.begin());
  committed_ = commit.step.value + 1;
  if (!schedule_ || (schedule_->due_at(committed_).empty() && !commit.is_last)) return;
  newest_round_ = committed_;
  ask_anew();
}

void StateCopy::ask_anew() {
  is_asking_ = true;
  asked_at_.reset();
  pieces_.reset();
}

// Whoever was named first is not in the view because the journal has not come to where it was.
bool StateCopy::is_first_to_come() const {
  return position_ < setup_.donor_seen_at && !members_.contains(setup_.donor);
}

// Whoever was named first, then the members in turn.
bool StateCopy::has_donor() {
  if (members_.contains(donor_) && !(is_asking_ && is_refused_)) return true;
  const Incarnation before = donor_;
  if (before == Incarnation{} && is_first_to_come()) return false;
  if (before == Incarnation{} && members_.contains(setup_.donor)) {
    donor_ = setup_.donor;
  } else {
    const auto after = members_.upper_bound(before);
    const auto next = after == members_.end() ? members_.begin() : after;
    donor_ = next == members_.end() ? Incarnation{} : *next;
  }
  if (donor_ == Incarnation{}) return false;
  is_refused_ = false;
  if (donor_ != before) {
    asked_at_.reset();
    pieces_.reset();
    said_at_.reset();
  }
  return true;
}

bool StateCopy::is_stuck(Instant now) const {
  if (!version_ || is_asking_ || committed_ <= *version_ || sums_.contains(*version_) || schedule_) return false;
  const bool has_gap = !sums_.empty();  // later ones came: this one is lost
  const bool has_waited = now - moved_at_ >= std::clamp(4 * image_took_, kStallFirst, kStallLongest);
  return is_refused_ || has_gap || has_waited;
}

FetchState StateCopy::request(std::uint64_t version, std::vector<std::string> names) const {
  return {setup_.self, version, std::move(names), donor_, setup_.branch};
}

std::optional<FetchState> StateCopy::due(Instant now) {
  if (is_stuck(now)) ask_anew();
  if (!has_donor()) return std::nullopt;
  if (is_asking_ && pieces_) {
    const auto offset = pieces_->window.due(now);
    if (!offset) return std::nullopt;
    FetchState further = request(pieces_->version, setup_.names);
    further.offset = *offset;
    further.held = pieces_->window.held();
    return further;
  }
  if (is_asking_) {
    if (asked_at_ && now - *asked_at_ < kAskAgain) return std::nullopt;
    if (!asked_at_) first_asked_at_ = now;
    asked_at_ = now;
    return request(std::max(version_.value_or(0), newest_round_), setup_.names);
  }
  if (said_at_ && now - *said_at_ < kSayAgain) return std::nullopt;
  said_at_ = now;
  return request(*version_, {});
}

// Steps without a record are too old to follow from there.
bool StateCopy::accepts(const StateImage& image, Instant now) {
  const bool is_ours = image.replica == setup_.self && image.donor == donor_ && is_asking_ && asked_at_;
  if (!is_ours) return false;
  const bool is_newer = pieces_ && image.offset == 0 && image.step > pieces_->version;
  if (is_newer) pieces_.reset();  // the donor gives no older one any more
  if (pieces_.has_value() != (image.offset > 0)) return false;
  const std::uint64_t bytes = image.image.byte_count();
  if (bytes == 0 && image.bytes_total > 0) return false;
  const bool is_next =
      !pieces_ || (pieces_->version == image.step && pieces_->window.bytes_total() == image.bytes_total &&
                   pieces_->window.takes(image.offset, now));
  if (!is_next) return false;
  const bool is_followable =
      (image.step >= committed_ || records_.contains(image.step)) && !has_round_after(image.step);
  if (!is_followable) ask_anew();
  image_took_ = now - first_asked_at_;
  if (!is_followable) return false;
  const bool is_first_of_several = !pieces_ && bytes < image.bytes_total;
  if (is_first_of_several) pieces_ = Pieces{image.step, PieceWindow(bytes, image.bytes_total, now)};
  return true;
}

void StateCopy::took_piece(std::uint64_t bytes, Instant now) {
  if (pieces_) pieces_->window.took(bytes, now);
}

void StateCopy::loaded(std::uint64_t version, Instant now) {
  ++copies_;
  version_ = version;
  is_asking_ = false;
  is_refused_ = false;
  asked_at_.reset();
  pieces_.reset();
  said_at_.reset();
  moved_at_ = now;
  std::erase_if(sums_, [&](const auto& sum) { return sum.first < version; });
}

bool StateCopy::arriving(const StateProgress& progress, Instant now) {
  const bool is_ours = progress.replica == setup_.self && progress.donor == donor_;
  if (is_ours && !is_asking_) moved_at_ = now;
  if (!is_ours || !pieces_) return is_ours && is_asking_;
  const bool is_of_a_sum = progress.bytes_total != pieces_->window.bytes_total();
  if (!is_of_a_sum) pieces_->window.arriving(now);
  return !is_of_a_sum;
}

void StateCopy::hold(const StepSum& sum, Instant now) {
  const bool is_ours = sum.replica == setup_.self && sum.donor == donor_ && sum.branch == setup_.branch;
  if (!is_ours || sum.step.value < version_.value_or(0) || kSumsMax.is_reached_by(sums_.size())) return;
  moved_at_ = now;
  sums_.emplace(sum.step.value, sum);
}

void StateCopy::refused(const StateUnavailable& refusal) {
  if (refusal.replica != setup_.self || refusal.donor != donor_) return;
  if (pieces_ && refusal.step != pieces_->version) return;  // one for each piece that was asked for of an older image
  is_refused_ = true;
  if (pieces_) ask_anew();
}

std::optional<FollowedStep> StateCopy::next() {
  if (!version_ || is_asking_) return std::nullopt;
  const auto record = records_.find(*version_);
  if (schedule_) return record == records_.end() ? std::nullopt : std::optional(record->second);
  const auto sum = sums_.find(*version_);
  if (record == records_.end() || sum == sums_.end()) return std::nullopt;
  FollowedStep step = record->second;
  step.sum = sum->second.values;
  return step;
}

void StateCopy::followed(Instant now) {
  sums_.erase(*version_);
  ++*version_;
  moved_at_ = now;
  said_at_.reset();
}

}  // namespace shoal
