// The oracle of the simulation.
#include "tests/support/simulation/verdict.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "runtime/base/compose.h"
#include "runtime/journal/round_plan.h"
#include "runtime/journal/view.h"
#include "tests/support/fake_executor.h"

namespace shoal {
namespace {

constexpr std::size_t kLastShown = 30;

using Violations = std::vector<std::string>;

[[nodiscard]] double loss_of_step(std::uint32_t microbatches, const std::set<MicrobatchId>& left_out) {
  double sum = 0;
  for (std::uint32_t index = 0; index < microbatches; ++index) {
    if (!left_out.contains(MicrobatchId{index})) sum += 1.0 + index;
  }
  return sum;
}

void check_stage(const StageCommit& stage, const Commit& commit, const View& view, std::uint32_t planned,
                 Violations& found) {
  const std::string where = compose("commit of step ", commit.step, ", stage ", stage.stage, ": ");
  for (const std::string& wrong : exactly_once_violations(stage.manifests, planned, view.quarantined())) {
    found.push_back("S-1: " + where + wrong);
  }
  for (const MemberManifest& manifest : stage.manifests) {
    const bool is_member = view.stage_of(manifest.member) == stage.stage;
    if (!is_member) found.push_back(compose("S-4: ", where, "replica ", manifest.member, " is not in the view"));
  }
}

// True when this is the commit of a step that began before the rounds due at its start were agreed.
[[nodiscard]] bool commit_needs_rounds(const JournalEntry& entry, const View& after, const RoundSchedule& schedule,
                                       std::uint32_t stages) {
  if (!std::holds_alternative<Commit>(entry.body)) return false;
  const std::uint64_t begun_at = after.committed_steps() - 1;
  for (const RoundId& round : schedule.due_at(begun_at)) {
    if (round.number == 0) continue;
    const StepId contributed{schedule.contribution_version(round)};
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      if (!after.rounds().has(StageId{stage}, round, contributed, begun_at)) return true;
    }
  }
  return false;
}

void check_commit(const Commit& commit, const View& view, const SwarmShape& shape, Violations& found) {
  const std::string where = compose("commit of step ", commit.step, ": ");
  if (commit.step.value != view.committed_steps()) found.push_back(compose("S-2: ", where, "out of order"));
  if (commit.skip) found.push_back(compose(where, "skipped"));
  std::set<StageId> stages;
  for (const StageCommit& stage : commit.stages) stages.insert(stage.stage);
  const bool is_each_once = stages.size() == shape.stages && commit.stages.size() == shape.stages;
  if (!is_each_once) found.push_back(compose("S-1: ", where, "not every stage once"));
  for (const StageCommit& stage : commit.stages) check_stage(stage, commit, view, shape.microbatches, found);
  const std::uint64_t tokens = FakeExecutor::kTokens * (shape.microbatches - view.quarantined().size());
  if (commit.token_count != tokens) found.push_back(compose("S-1: ", where, commit.token_count, " tokens"));
  const double loss = loss_of_step(shape.microbatches, view.quarantined());
  if (commit.loss_sum != loss) found.push_back(compose(where, "loss ", commit.loss_sum));
}

}  // namespace

std::vector<std::string> exactly_once_violations(const std::vector<MemberManifest>& manifests, std::uint32_t planned,
                                                 const std::set<MicrobatchId>& left_out) {
  std::multiset<MicrobatchId> counted;
  for (const MemberManifest& manifest : manifests) {
    for (const ManifestEntry& entry : manifest.entries) counted.insert(entry.microbatch);
  }
  Violations found;
  for (MicrobatchId wanted{0}; wanted.value < planned; ++wanted.value) {
    if (left_out.contains(wanted)) continue;
    const auto times = counted.count(wanted);
    if (times != 1) found.push_back(compose("microbatch ", wanted, " is counted ", times, " times"));
    counted.erase(wanted);
  }
  for (const MicrobatchId foreign : counted) found.push_back(compose("microbatch ", foreign, " is not of the step"));
  return found;
}

View view_of(const SimulatedSwarm& swarm) {
  View view;
  for (const JournalEntry& entry : swarm.journal()) view.apply(entry);
  return view;
}

SimulationReference compute_reference(std::uint64_t steps, std::uint32_t microbatches, const Quarantines& left_out) {
  FakeExecutor single(FakeShape{0, 1, microbatches, DType::kInt64});
  SimulationReference reference;
  reference.digests.push_back(single.state_digest());
  for (std::uint64_t step = 0; step < steps; ++step) {
    for (std::uint32_t index = 0; index < microbatches; ++index) {
      const MicrobatchId microbatch{index};
      if (left_out.contains(StepId{step}, microbatch)) continue;
      (void)single.forward_backward({StepId{step}, microbatch, FakeExecutor::input_of(0, StepId{step}, microbatch), {}},
                                    WeightGradients::kAtOnce);
      (void)single.accumulate(microbatch);
    }
    const std::uint64_t counted = microbatches - left_out.of(StepId{step}).size();
    (void)single.adopt_sum(single.contribution(), FakeExecutor::kTokens * counted);
    single.apply({});
    reference.digests.push_back(single.state_digest());
  }
  reference.weights = values_of(single.state_image());
  return reference;
}

std::vector<std::string> journal_violations(const SimulatedSwarm& swarm) {
  Violations found;
  View view;
  for (const JournalEntry& entry : swarm.journal()) {
    if (const auto* commit = std::get_if<Commit>(&entry.body)) check_commit(*commit, view, swarm.shape(), found);
    view.apply(entry);
  }
  if (view.committed_steps() > swarm.shape().steps) found.push_back("S-2: more steps than were asked for");
  return found;
}

std::vector<std::string> weight_violations(const SimulatedSwarm& swarm) {
  Violations found;
  const SwarmShape& shape = swarm.shape();
  View view;
  for (const JournalEntry& entry : swarm.journal()) view.apply(entry);
  const SimulationReference reference = compute_reference(shape.steps, shape.microbatches, view.quarantines());
  for (const ReplicaReport& report : swarm.record().reports) {
    const std::uint64_t version = report.step.value + 1;
    if (version < reference.digests.size() && reference.digests[version] == report.state_digest) continue;
    found.push_back(compose("S-3: replica ", report.replica, " of stage ", report.stage, " after ", version, " steps"));
  }
  for (const auto& [key, weights] : swarm.record().saved) {
    if (key.first != shape.steps || weights == reference.weights) continue;
    found.push_back(compose("S-5: saved weights of stage ", key.second));
  }
  return found;
}

namespace {

// Tokens per step of each member of a stage, as the commits give them that the newest branch stands on.
class TokenBook {
 public:
  // Steps before it stay counted: what of them is in no round yet is lost.
  void begin(std::uint64_t version) {
    for (auto& [key, steps] : tokens_) steps.erase(steps.lower_bound(version), steps.end());
    joined_.clear();
  }
  void add(const AddReplica& added) { joined_[added.replica] = added.version; }
  void add(const Commit& commit) {
    for (const StageCommit& stage : commit.stages) {
      for (const MemberManifest& manifest : stage.manifests) {
        for (const ManifestEntry& entry : manifest.entries) {
          tokens_[{stage.stage, manifest.member}][commit.step.value] += entry.token_count;
        }
      }
    }
  }
  // Tokens in the steps from..to-1 that the member was there for.
  [[nodiscard]] std::uint64_t of(StageId stage, Incarnation member, std::uint64_t from, std::uint64_t to) const {
    const auto found = tokens_.find({stage, member});
    if (found == tokens_.end()) return 0;
    std::uint64_t sum = 0;
    for (const auto& [step, tokens] : found->second) sum += step >= from && step < to ? tokens : 0;
    return sum;
  }
  [[nodiscard]] std::uint64_t of(StageId stage, std::uint64_t from, std::uint64_t to) const {
    std::uint64_t sum = 0;
    for (const auto& [key, steps] : tokens_) sum += key.first == stage ? of(stage, key.second, from, to) : 0;
    return sum;
  }
  [[nodiscard]] std::uint64_t joined(Incarnation member) const { return joined_.at(member); }

 private:
  std::map<std::pair<StageId, Incarnation>, std::map<std::uint64_t, std::uint64_t>> tokens_;
  std::map<Incarnation, std::uint64_t> joined_;
};

// Books the way to the newest state, as far as the journal says what was applied before which step: every round of a
// fragment is of the steps since the last one, so that none is merged or lost twice.
class RoundBook {
 public:
  void begin(std::uint64_t version) {
    for (auto& [key, rounds] : rounds_) {
      while (!rounds.empty() && rounds.back().applied_at > version) rounds.pop_back();
    }
  }
  // Applied after so many steps, made of the steps after `from`. False: those are not the next ones.
  [[nodiscard]] bool add(const CommitRound& round, std::uint64_t applied_at, std::uint64_t from) {
    auto& rounds = rounds_[{round.stage, round.round.fragment}];
    const std::uint64_t known = rounds.empty() ? 0 : rounds.back().until;
    rounds.push_back({applied_at, round.step.value});
    return known == from;
  }

 private:
  struct Applied {
    std::uint64_t applied_at = 0;
    std::uint64_t until = 0;
  };
  std::map<std::pair<StageId, std::uint32_t>, std::vector<Applied>> rounds_;
};

[[nodiscard]] std::uint64_t contributed_before(const CommitRound& round, const RoundSchedule& schedule) {
  if (round.round.number == 1) return 0;
  return schedule.contribution_version({round.round.fragment, round.round.number - 1});
}

void check_round(const CommitRound& round, const TokenBook& book, const RoundSchedule& schedule, const View& view,
                 Violations& found) {
  const std::string where = describe({{}, {}, {}, round}) + ": ";
  const std::uint64_t from = contributed_before(round, schedule);
  std::uint64_t merged = 0;
  for (const RoundShare& share : round.shares) {
    merged += share.token_count;
    if (view.stage_of(share.member) != round.stage) found.push_back(compose("S-4: ", where, "a share of a stranger"));
    const std::uint64_t trained =
        book.of(round.stage, share.member, std::max(from, book.joined(share.member)), round.step.value);
    if (share.token_count == trained) continue;
    found.push_back(compose(where, "replica ", share.member, " counts ", share.token_count, " tokens, not ", trained));
  }
  const std::uint64_t committed = book.of(round.stage, from, round.step.value);
  if (merged + round.tokens_lost == committed) return;
  found.push_back(compose(where, merged, " tokens merged, ", round.tokens_lost, " lost, ", committed, " committed"));
}

// Every contribution is agreed on at the end, and what is saved goes ahead of nothing: the start of a next round is the
// agreed value.
void check_round_end(const SimulatedSwarm& swarm, const View& view, Violations& found) {
  const SwarmShape& shape = swarm.shape();
  if (!view.is_finished() || view.committed_steps() < shape.steps) return;
  const RoundSchedule schedule(shape.sync);
  for (const RoundId& round : schedule.in_flight_after(shape.steps)) {
    const StepId contributed{schedule.contribution_version(round)};
    for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
      if (view.rounds().has(StageId{stage}, round, contributed, shape.steps)) continue;
      found.push_back(compose("the end leaves round ", round.number, " of fragment ", round.fragment, " open"));
    }
  }
  for (const auto& [key, values] : swarm.record().saved) {
    if (key.first != shape.steps) continue;
    for (std::size_t at = shape.microbatches; at < values.size(); at += 4) {
      if (std::bit_cast<double>(values[at + 2]) == std::round(std::bit_cast<double>(values[at]))) continue;
      found.push_back(compose("the saved state of stage ", key.second, " is ahead of a round"));
      break;
    }
  }
}

}  // namespace

std::vector<std::string> round_violations(const SimulatedSwarm& swarm) {
  Violations found;
  View view;
  TokenBook book;
  RoundBook rounds;
  const RoundSchedule schedule(swarm.shape().sync);
  for (const JournalEntry& entry : swarm.journal()) {
    const auto* round = std::get_if<CommitRound>(&entry.body);
    if (round != nullptr) check_round(*round, book, schedule, view, found);
    if (round != nullptr && !rounds.add(*round, view.committed_steps(), contributed_before(*round, schedule))) {
      found.push_back(compose(describe(entry), ": its steps do not follow those of the fragment's round before"));
    }
    const Branch before = view.branch();
    view.apply(entry);
    if (view.branch() != before || entry.position.value == 1) {
      book.begin(view.committed_steps());
      rounds.begin(view.committed_steps());
    }
    if (const auto* added = std::get_if<AddReplica>(&entry.body)) book.add(*added);
    if (const auto* commit = std::get_if<Commit>(&entry.body)) book.add(*commit);
    if (commit_needs_rounds(entry, view, schedule, swarm.shape().stages)) {
      found.push_back(compose(describe(entry), ": a round that was due before it is not agreed"));
    }
  }
  check_round_end(swarm, view, found);
  std::map<std::tuple<Branch, StepId, StageId>, std::uint64_t> digests;
  for (const ReplicaReport& report : swarm.record().reports) {
    const auto [known, is_first] =
        digests.emplace(std::tuple{report.branch, report.step, report.stage}, report.state_digest);
    if (known->second != report.state_digest) {
      found.push_back(compose("S-3: replica ", report.replica, " of stage ", report.stage, " in step ", report.step));
    }
  }
  return found;
}

std::set<MicrobatchId> mixed_passes(const SimulatedSwarm& swarm, const Commit& commit) {
  std::map<std::pair<StageId, MicrobatchId>, Incarnation> holders;
  for (const StageCommit& stage : commit.stages) {
    for (const MemberManifest& manifest : stage.manifests) {
      for (const ManifestEntry& entry : manifest.entries) holders[{stage.stage, entry.microbatch}] = manifest.member;
    }
  }
  std::set<MicrobatchId> mixed;
  for (const auto& [key, holder] : holders) {
    const auto next = holders.find({StageId{key.first.value + 1}, key.second});
    if (next == holders.end()) continue;
    const FakePass& here = swarm.record().passes->at({holder, commit.step, key.second});
    const FakePass& there = swarm.record().passes->at({next->second, commit.step, key.second});
    const auto self = static_cast<std::int64_t>(holder.value);
    const bool is_one = here.gradient_from == static_cast<std::int64_t>(next->second.value) &&
                        here.gradient_on == self && there.input_from == self;
    if (!is_one) mixed.insert(key.second);
  }
  return mixed;
}

std::vector<std::string> number_violations(const SimulatedSwarm& swarm) {
  Violations found;
  std::set<Incarnation> given;
  Term term;
  const auto give = [&](const JournalEntry& entry, Incarnation incarnation) {
    if (given.insert(incarnation).second) return;
    found.push_back(compose("P-4: incarnation ", incarnation, " is given twice, at entry ", entry.position));
  };
  for (const JournalEntry& entry : swarm.journal()) {
    if (const auto* added = std::get_if<AddReplica>(&entry.body)) give(entry, added->replica);
    if (const auto* appointed = std::get_if<AppointGroup>(&entry.body)) give(entry, appointed->group);
    if (entry.term < term) found.push_back(compose("P-4: entry ", entry.position, " is of an older term"));
    term = entry.term;
  }
  return found;
}

// The last lines may wait for reports when the run ends.
std::vector<std::string> line_violations(const SimulatedSwarm& swarm) {
  Violations found;
  const auto& lines = swarm.record().lines;
  std::size_t at = 0;
  for (const JournalEntry& entry : swarm.journal()) {
    const auto* commit = std::get_if<Commit>(&entry.body);
    if (commit == nullptr || at == lines.size()) continue;
    const StepRecord& line = lines[at++];
    if (line.branch == entry.branch.value && line.step == commit->step.value) continue;
    found.push_back(compose("metrics: line ", at, " is of branch ", line.branch, ", step ", line.step,
                            "; the journal has branch ", entry.branch, ", step ", commit->step));
    break;
  }
  return found;
}

std::vector<std::string> bug_violations(const std::vector<RunEvent>& events) {
  Violations found;
  for (const RunEvent& event : events) {
    const bool is_bug = event.reason.find("ENSURE(") != std::string::npos;
    if (is_bug) found.push_back(compose("a bug: ", word_of(event.kind), " ", event.subject, ": ", event.reason));
  }
  return found;
}

namespace {

[[nodiscard]] Violations safety_violations(const SimulatedSwarm& swarm) {
  Violations all = journal_violations(swarm);
  const bool has_rounds = swarm.shape().sync.mode == SyncMode::kDiloco;
  for (auto& violation : has_rounds ? round_violations(swarm) : weight_violations(swarm)) {
    all.push_back(std::move(violation));
  }
  for (auto& violation : has_rounds ? sample_violations(swarm, swarm.shape().sync.requeue_lost) : Violations{}) {
    all.push_back(std::move(violation));
  }
  for (auto& violation : number_violations(swarm)) all.push_back(std::move(violation));
  for (auto& violation : line_violations(swarm)) all.push_back(std::move(violation));
  for (auto& violation : bug_violations(swarm.record().events)) all.push_back(std::move(violation));
  return all;
}

[[nodiscard]] std::string tell(const SimulatedSwarm& swarm, const Violations& all) {
  if (all.empty()) return {};
  std::string text = describe_run(swarm);
  for (const std::string& violation : all) text += "  VIOLATION " + violation + "\n";
  return text;
}

}  // namespace

std::string describe_run(const SimulatedSwarm& swarm) {
  std::string text = compose("seed ", swarm.seed(), ", ", swarm.shape().stages, "x", swarm.shape().replicas, "\n");
  if (!swarm.knobs().empty()) text += compose("bounds: ", swarm.knobs(), "\n");
  if (const auto& end = swarm.record().end) text += compose("ended with ", end->exit_status, ": ", end->reason, "\n");
  const double seconds = milliseconds(swarm.clockwork().elapsed()) / 1000;
  text += compose("after ", seconds, " s and ", swarm.clockwork().messages(), " messages\n");
  const auto entries = swarm.journal();
  for (std::size_t at = entries.size() - std::min(entries.size(), kLastShown); at < entries.size(); ++at) {
    text += compose("  journal ", entries[at].position, ": ", describe(entries[at]), "\n");
  }
  const auto& events = swarm.record().events;
  for (std::size_t at = events.size() - std::min(events.size(), kLastShown); at < events.size(); ++at) {
    const RunEvent& event = events[at];
    text += compose("  step ", event.step, " ", word_of(event.kind), " ", event.subject, ": ", event.reason, "\n");
  }
  return text;
}

std::string violations(const SimulatedSwarm& swarm) {
  Violations all = safety_violations(swarm);
  const std::size_t lines = swarm.record().lines.size();
  const SwarmRecord& record = swarm.record();
  if (!record.end) all.push_back("L-1: the run hangs");
  if (record.end && record.end->exit_status != 0) all.push_back("L-1: the run failed");
  const auto saved = std::count_if(record.saved.begin(), record.saved.end(),
                                   [&](const auto& one) { return one.first.first == swarm.shape().steps; });
  if (static_cast<std::uint32_t>(saved) != swarm.shape().stages) all.push_back("not every stage's weights were saved");
  if (record.end && lines < swarm.shape().steps) all.push_back(compose("metrics: only ", lines, " lines"));
  return tell(swarm, all);
}

}  // namespace shoal
