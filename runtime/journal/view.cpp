// What an entry changes in the parts of a view. The parts check what concerns them alone.
#include "runtime/journal/view.h"

#include <algorithm>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"

namespace shoal {

namespace {

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
      is_at_last_commit_(state.is_at_last_commit),
      skips_in_a_row_(static_cast<int>(state.skips_in_a_row)),
      members_(state.stages, state.groups),
      rounds_(state.start, state.held_until, state.rounds),
      lost_(state.lost, state.start),
      totals_(state.totals.begin(), state.totals.end()),
      quarantines_(state.quarantined),
      requeued_(state.requeued),
      ends_(state.ends),
      finished_(state.finished) {}

ViewState View::state() const {
  ViewState state;
  state.position = position_;
  state.branch = branch_;
  state.committed_steps = committed_steps_;
  state.start = rounds_.start();
  state.held_until = rounds_.held_until();
  state.is_at_last_commit = is_at_last_commit_;
  state.skips_in_a_row = static_cast<std::uint32_t>(skips_in_a_row_);
  state.stages = members_.stages();
  state.groups = members_.groups();
  state.rounds = rounds_.newest();
  state.totals.assign(totals_.begin(), totals_.end());
  state.lost = lost_.state();
  state.quarantined = quarantines_.all();
  state.requeued = requeued_.state();
  state.ends = ends_.versions();
  state.finished = finished_;
  return state;
}

void View::apply(const JournalEntry& entry) {
  ENSURE(entry.position.value == position_.value + 1,
         compose("entry ", entry.position, " after position ", position_, ": the journal is followed without gaps"));
  ENSURE(entry.branch >= branch_, compose("entry ", entry.position, " is of an older branch"));
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
  members_.clear();
  rounds_.clear();
  requeued_.go_back_to(version);
}

void View::change(const JournalEntry& entry, const AddReplica& added) {
  if (entry.branch > branch_ || entry.position.value == 1) begin_branch(entry.branch, added.version);
  ENSURE(added.version == committed_steps_, compose("replica ", added.replica, " added at version ", added.version,
                                                    ", committed are ", committed_steps_, " (P-27)"));
  if (replica_count() == 0) {  // all begin with a checkpoint, on this branch or on the same one again
    rounds_.begin(committed_steps_, ends_.newest());
    lost_.begin(committed_steps_);
    is_at_last_commit_ = false;
  }
  members_.add(entry.position, added);
  finished_.reset();
}

void View::change(const JournalEntry& entry, const RemoveReplica& removed) { members_.remove(entry.position, removed); }

void View::change(const JournalEntry& entry, const AppointGroup& appointed) {
  ENSURE(entry.branch == branch_, "a branch begins with its replicas");
  members_.appoint(appointed);
}

void View::change(const JournalEntry& entry, const Commit& commit) {
  ENSURE(entry.branch == branch_, "a branch begins with its replicas");
  ENSURE(commit.step.value == committed_steps_,
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
  ENSURE(quarantine.step.value >= committed_steps_, "what is committed is not changed");
  quarantines_.insert(quarantine.step, quarantine.microbatch);
  if (quarantine.step.value == committed_steps_) members_.change_all(entry.position);
}

void View::change(const JournalEntry& entry, const CommitRound& commit) {
  ENSURE(entry.branch == branch_ && commit.step.value <= committed_steps_, "a round follows its contributions");
  rounds_.follow(commit);
  lost_.follow(commit, committed_steps_);
  requeued_.follow(commit, committed_steps_);
}

std::uint64_t View::optimizer_step() const { return totals_.empty() ? 0 : totals_.back().optimizer_step; }

std::uint64_t View::tokens_total() const { return totals_.empty() ? 0 : totals_.back().tokens; }

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
