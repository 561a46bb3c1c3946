// Membership by replaying the journal. Stages are a small vector, so that routing looks a stage up without a search.
#include "runtime/journal/view.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/base/compose.h"

namespace shoal {

namespace {

// A journal names stages it has placed; a number beyond this is a broken entry, not a large model.
constexpr std::uint32_t kStagesMax = 4096;

std::string text_of(const AddReplica& added) {
  return compose("replica ", added.replica, " added to stage ", added.stage, " (slot ", added.slot, ", process ",
                 added.process, ") at version ", added.version);
}
std::string text_of(const RemoveReplica& removed) {
  return compose("replica ", removed.replica, " removed from stage ", removed.stage, ": ", removed.reason);
}
std::string text_of(const AppointGroup& appointed) {
  return compose("sync group ", appointed.group, " appointed for stage ", appointed.stage);
}
std::string text_of(const Commit& commit) {
  return compose("commit of step ", commit.step, commit.skip ? " (skipped: " + commit.skip->tensor + ")" : "");
}
std::string text_of(const FinishRun& finish) { return compose("run ends: ", finish.reason); }
std::string text_of(const Quarantine& quarantine) {
  return compose("microbatch ", quarantine.microbatch, " of step ", quarantine.step,
                 " quarantined: ", quarantine.reason);
}
std::string text_of(const CommitRound& commit) {
  return compose("commit of round ", commit.round.number, " of fragment ", commit.round.fragment, " of stage ",
                 commit.stage);
}

}  // namespace

// Defined here and not in the header, because many files copy views.
View::View() = default;
View::View(const View& other) = default;
View::View(View&& other) noexcept = default;
View& View::operator=(const View& other) = default;
View& View::operator=(View&& other) noexcept = default;
View::~View() = default;

View::View(const ViewState& state)
    : position_(state.position),
      branch_(state.branch),
      committed_steps_(state.committed_steps),
      start_(state.start),
      held_until_(state.held_until),
      is_at_last_commit_(state.is_at_last_commit),
      skips_in_a_row_(static_cast<int>(state.skips_in_a_row)),
      stages_(state.stages),
      lost_(state.lost, state.start),
      totals_(state.totals.begin(), state.totals.end()),
      quarantines_(state.quarantined),
      requeued_(state.requeued),
      ends_(state.ends),
      finished_(state.finished) {
  for (std::uint32_t stage = 0; stage < stages_.size(); ++stage) {
    for (const ReplicaMember& member : stages_[stage].replicas) stage_of_[member.incarnation] = StageId{stage};
  }
  for (const auto& [stage, group] : state.groups) groups_[stage] = group;
  for (const auto& [stage, round] : state.rounds) rounds_[{stage, round.fragment}] = round.number;
}

ViewState View::state() const {
  ViewState state;
  state.position = position_;
  state.branch = branch_;
  state.committed_steps = committed_steps_;
  state.start = start_;
  state.held_until = held_until_;
  state.is_at_last_commit = is_at_last_commit_;
  state.skips_in_a_row = static_cast<std::uint32_t>(skips_in_a_row_);
  state.stages = stages_;
  for (const auto& [stage, group] : groups_) state.groups.push_back({stage, group});
  for (const auto& [key, number] : rounds_) state.rounds.push_back({key.first, {key.second, number}});
  state.totals.assign(totals_.begin(), totals_.end());
  state.lost = lost_.state();
  state.quarantined = quarantines_.all();
  state.requeued = requeued_.state();
  state.ends = ends_.versions();
  state.finished = finished_;
  return state;
}

void View::apply(const JournalEntry& entry) {
  CHECK(entry.position.value == position_.value + 1,
        compose("entry ", entry.position, " after position ", position_, ": the journal is followed without gaps"));
  CHECK(entry.branch >= branch_, compose("entry ", entry.position, " is of an older branch"));
  position_ = entry.position;
  ends_.follow(entry);
  std::visit([&](const auto& body) { change(entry, body); }, entry.body);
}

void View::begin_branch(Branch branch, std::uint64_t version) {
  const std::uint64_t tokens_before = tokens_total();
  const bool goes_back = version < committed_steps_;
  branch_ = branch;
  committed_steps_ = version;
  skips_in_a_row_ = 0;
  while (!totals_.empty() && totals_.back().version > version) totals_.pop_back();
  if (!totals_.empty() && totals_.back().version < version) totals_.push_back({version, 0, 0, true});
  if (goes_back) lost_.go_back_to(version, tokens_before - std::min(tokens_before, tokens_total()));
  stage_of_.clear();
  groups_.clear();
  stages_.clear();
  rounds_.clear();
  requeued_.go_back_to(version);
}

void View::change(const JournalEntry& entry, const AddReplica& added) {
  if (entry.branch > branch_ || entry.position.value == 1) begin_branch(entry.branch, added.version);
  CHECK(added.version == committed_steps_, compose("replica ", added.replica, " added at version ", added.version,
                                                   ", committed are ", committed_steps_, " (P-27)"));
  CHECK(added.stage.value < kStagesMax && !contains(added.replica), "a replica is added once, to a stage that exists");
  if (stage_of_.empty()) {  // all begin with a checkpoint, on this branch or on the same one again
    start_ = committed_steps_;
    lost_.begin(start_);
    held_until_ = ends_.newest();
    is_at_last_commit_ = false;
  }
  if (added.stage.value >= stages_.size()) stages_.resize(added.stage.value + std::size_t{1});
  StageMembers& stage = stages_[added.stage.value];
  const ReplicaMember member{added.replica, added.slot, added.process};
  const auto place =
      std::lower_bound(stage.replicas.begin(), stage.replicas.end(), member,
                       [](const ReplicaMember& a, const ReplicaMember& b) { return a.incarnation < b.incarnation; });
  stage.replicas.insert(place, member);
  stage.last_change = entry.position;
  stage_of_[added.replica] = added.stage;
  finished_.reset();
}

void View::change(const JournalEntry& entry, const RemoveReplica& removed) {
  const auto known = stage_of_.find(removed.replica);
  CHECK(known != stage_of_.end() && known->second == removed.stage, "only a member is removed, from its own stage");
  StageMembers& stage = stages_[removed.stage.value];
  std::erase_if(stage.replicas, [&](const ReplicaMember& member) { return member.incarnation == removed.replica; });
  stage.last_change = entry.position;
  stage_of_.erase(known);
}

void View::change(const JournalEntry& entry, const AppointGroup& appointed) {
  CHECK(entry.branch == branch_, "a branch begins with its replicas");
  groups_[appointed.stage] = appointed.group;
}

void View::change(const JournalEntry& entry, const Commit& commit) {
  CHECK(entry.branch == branch_, "a branch begins with its replicas");
  CHECK(commit.step.value == committed_steps_,
        compose("commit of step ", commit.step, " where ", committed_steps_, " is next (S-2)"));
  // Steps before a branch that the journal lacks (one process trained them) had as many tokens each as this one.
  const std::uint64_t before = tokens_total() > 0 ? tokens_total() : committed_steps_ * commit.token_count;
  ++committed_steps_;
  keep({committed_steps_, commit.optimizer_step, before + commit.token_count, !commit.checkpoint_by.empty()});
  is_at_last_commit_ = commit.is_last;
  skips_in_a_row_ = commit.skip ? skips_in_a_row_ + 1 : 0;
}

void View::keep(const StepTotals& totals) {
  totals_.push_back(totals);
  if (!kTotalsMax.is_exceeded_by(totals_.size())) return;
  const auto plain = std::find_if(totals_.begin(), totals_.end(), [](const StepTotals& one) { return !one.is_saved; });
  totals_.erase(plain == totals_.end() || plain + 1 == totals_.end() ? totals_.begin() : plain);
}

void View::change(const JournalEntry& /*entry*/, const FinishRun& finish) { finished_ = finish.reason; }

// May come before the replicas of its branch do, or before the branch has come to its step again.
void View::change(const JournalEntry& entry, const Quarantine& quarantine) {
  CHECK(quarantine.step.value >= committed_steps_, "what is committed is not changed");
  quarantines_.insert(quarantine.step, quarantine.microbatch);
  if (quarantine.step.value != committed_steps_) return;
  for (StageMembers& stage : stages_) stage.last_change = entry.position;
}

void View::change(const JournalEntry& entry, const CommitRound& commit) {
  CHECK(entry.branch == branch_ && commit.step.value <= committed_steps_, "a round follows its contributions");
  std::uint64_t& newest = rounds_[{commit.stage, commit.round.fragment}];
  CHECK(commit.round.number > newest, compose("round ", commit.round.number, " where ", newest, " was the last (S-2)"));
  newest = commit.round.number;
  lost_.follow(commit, committed_steps_);
  requeued_.follow(commit, committed_steps_);
}

bool View::has_round(StageId stage, const RoundId& round, StepId contributed, std::uint64_t due) const {
  if (due <= start_ || contributed.value <= held_until_) return true;
  const auto newest = newest_round(stage, round.fragment);
  return newest && newest->number >= round.number;
}

std::optional<RoundId> View::newest_round(StageId stage, std::uint32_t fragment) const {
  const auto found = rounds_.find({stage, fragment});
  return found == rounds_.end() ? std::nullopt : std::optional(RoundId{fragment, found->second});
}

std::vector<RoundId> View::newest_rounds(StageId stage) const {
  std::vector<RoundId> newest;
  for (const auto& [key, number] : rounds_) {
    if (key.first == stage) newest.push_back({key.second, number});
  }
  return newest;
}

std::uint64_t View::optimizer_step() const { return totals_.empty() ? 0 : totals_.back().optimizer_step; }

std::uint64_t View::tokens_total() const { return totals_.empty() ? 0 : totals_.back().tokens; }

const std::vector<ReplicaMember>& View::replicas_of(StageId stage) const {
  static const std::vector<ReplicaMember> kNobody;
  return stage.value < stages_.size() ? stages_[stage.value].replicas : kNobody;
}

std::uint32_t View::stage_count() const {
  std::size_t count = stages_.size();
  while (count > 0 && stages_[count - 1].replicas.empty()) --count;
  return static_cast<std::uint32_t>(count);
}

std::optional<StageId> View::stage_of(Incarnation replica) const {
  const auto found = stage_of_.find(replica);
  return found == stage_of_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<ReplicaMember> View::find(Incarnation replica) const {
  const auto stage = stage_of(replica);
  if (!stage) return std::nullopt;
  for (const ReplicaMember& member : replicas_of(*stage)) {
    if (member.incarnation == replica) return member;
  }
  return std::nullopt;
}

ProcessIncarnation View::process_of(Incarnation replica) const {
  const auto member = find(replica);
  CHECK(member.has_value(), compose("replica ", replica, " is not in the view at position ", position_));
  return member->process;
}

JournalPosition View::last_change_of(StageId stage) const {
  return stage.value < stages_.size() ? stages_[stage.value].last_change : JournalPosition{};
}

Incarnation View::group_of(StageId stage) const {
  const auto found = groups_.find(stage);
  return found == groups_.end() ? Incarnation{} : found->second;
}

JournalEntry without_details(JournalEntry entry) {
  if (auto* commit = std::get_if<Commit>(&entry.body)) {
    commit->norms = std::vector<TensorNorm>();  // a cleared one would keep its room, in every entry that is kept
    for (StageCommit& stage : commit->stages) stage.manifests = std::vector<MemberManifest>();
  }
  return entry;
}

std::string describe(const JournalEntry& entry) {
  return compose("entry ", entry.position, ": ",
                 std::visit([](const auto& body) { return text_of(body); }, entry.body));
}

}  // namespace shoal
