// The supervisor dies at any write of its journal, before or after it is durable, again and again, while workers die
// and come back: no number, step or term is given twice (P-4), and when the faults stop the run ends well.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>
#include <set>

#include "runtime/base/compose.h"
#include "runtime/cluster/supervisor/supervisor.h"
#include "tests/support/commit_policies.h"
#include "tests/support/journal/crashing_journal.h"
#include "tests/support/journal/whole_journal.h"

namespace shoal::supervisor_kill_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t kStages = 2;
constexpr std::uint32_t kReplicas = 2;
constexpr std::uint64_t kSteps = 12;

// A process as the supervisor meets it: what it was welcomed as, and what it serves.
struct Worker {
  std::string name;
  std::uint64_t nonce = 0;
  ProcessIncarnation number;
  bool is_storage = false;
  bool is_in = false;
  std::vector<ServedReplica> serves;
};

// Forgetful: numbers start at 1 again with each start, as they would if they were not reserved durably.
enum class Numbering { kDurable, kForgetful };

class World {
 public:
  explicit World(std::uint64_t seed, Numbering numbering = Numbering::kDurable) : random_(seed), numbering_(numbering) {
    for (int node = 1; node <= 5; ++node)
      workers_.push_back({compose("node", node), ++nonces_, {}, node == 5, false, {}});
    start();
  }

  // Faults for a while, then none; whether the run came to its end.
  bool run() {
    for (int turn = 0; turn < 3000 && !ended_; ++turn) {
      if (turn < 600) disturb();
      work();
      if (plan_->is_dead) start();
      now_ += milliseconds(static_cast<int>(below(60)));
    }
    return ended_.has_value();
  }
  [[nodiscard]] std::string why() const { return core_->explain_waiting(now_); }

  std::optional<EndRun> ended_;
  int deaths_ = 0;
  std::vector<std::string> violations_;
  std::shared_ptr<WholeJournal> disk_ = std::make_shared<WholeJournal>(RunId{9});

 private:
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  void start() {
    ++deaths_;
    *plan_ = CrashPlan{};
    SupervisorConfig config;
    config.run = RunId{9};
    config.term = disk_->begin_term().value();
    if (!terms_.insert(config.term).second) violations_.push_back(compose("term ", config.term, " again"));
    config.stages = kStages;
    config.replicas = kReplicas;
    config.steps_target = kSteps;
    config.checkpoint_every = 3;
    config.snapshot_every = 4;
    config.policy = constant_rate(0.1, 0);
    config.start = checkpoint_;
    if (config.term > Term{1}) config.return_within = seconds(10);
    term_ = config.term;
    journal_ = std::make_unique<CrashingJournal>(disk_, plan_);
    core_.emplace(std::move(config));
    const JournalPosition after = journal_->begins_after();
    if (after > JournalPosition{}) core_->replay(*journal_->snapshot());
    const auto entries = journal_->load(after, disk_->last_position().value);
    for (const JournalEntry& entry : *entries) core_->replay(entry);
    for (Worker& worker : workers_) worker.is_in = false;
    looks_.clear();
    perform(core_->begin(now_));
  }

  void give(Incarnation number) {
    if (!given_.insert(number).second) violations_.push_back(compose("incarnation ", number, " again"));
  }

  void perform(SupervisorEffects effects) {
    for (SupervisorEffect& effect : effects) {
      if (plan_->is_dead) return;  // whatever it still does, nobody sees it
      std::visit([this](auto& one) { act(one); }, effect);
    }
  }
  void act(AppendEntry& effect) {
    const JournalEntry entry = core_->entry_for(effect.body);
    (void)journal_->append(entry);
    if (plan_->is_dead) return;
    perform(core_->appended(entry, now_));
  }
  void act(ReserveNumbers& effect) {
    const auto block =
        journal_->reserve(effect.are_processes ? IncarnationKind::kProcess : IncarnationKind::kActor, 200);
    const std::uint64_t first = numbering_ == Numbering::kDurable ? block->first : 1;
    core_->reserved(effect.are_processes, first, block->count);
  }
  // Is read at once, and said later.
  void act(FindCheckpoint& effect) {
    looks_.push_back({effect.look, checkpoint_.version <= effect.not_beyond ? checkpoint_ : StartPoint{}});
  }
  void end_look() {
    const LookEnd end = looks_.back();
    if (below(4) != 0) looks_.pop_back();  // else it is said twice
    perform(core_->looked(end, now_));
  }
  void act(KeepSnapshot& effect) { (void)journal_->cut(effect.snapshot); }
  void act(StartGroup& effect) { give(effect.group); }
  void act(StartDataLoader& effect) { give(effect.loader); }
  void act(EndRun& effect) { ended_ = effect; }
  void act(Letter& letter) {
    if (const auto* welcome = std::get_if<Welcome>(&letter.body)) return welcomed(*welcome);
    for (Worker& worker : workers_) {
      if (worker.number != letter.to.process || worker.number.value == 0) continue;
      std::visit([&](const auto& body) { hear(worker, body); }, letter.body);
    }
  }
  template <class Other>
  void act(Other&) {}

  void welcomed(const Welcome& welcome) {
    for (Worker& worker : workers_) {
      if (worker.nonce != welcome.nonce) continue;
      worker.is_in = true;
      if (worker.number == welcome.process) return;
      worker.serves.clear();
      worker.number = welcome.process;
      if (!processes_.insert(welcome.process).second) {
        violations_.push_back(compose("process ", welcome.process, " again"));
      }
    }
  }
  void hear(Worker& worker, const SpawnStage& order) {
    give(order.replica);
    worker.serves.push_back({order.stage, order.slot, order.replica, order.branch, order.version});
  }
  void hear(Worker& worker, const EndStage& order) { drop(worker, order.replica); }
  void hear(Worker& worker, const EndProcess&) { restart(worker); }
  void hear(Worker& worker, const JournalEntries& entries) {
    for (const JournalEntry& entry : entries.entries) {
      if (const auto* removed = std::get_if<RemoveReplica>(&entry.body)) drop(worker, removed->replica);
      if (!std::holds_alternative<Commit>(entry.body)) continue;
      for (ServedReplica& served : worker.serves) served.version += core_->view().contains(served.replica) ? 1 : 0;
    }
  }
  template <class Other>
  void hear(Worker&, const Other&) {}

  static void drop(Worker& worker, Incarnation replica) {
    std::erase_if(worker.serves, [&](const ServedReplica& served) { return served.replica == replica; });
  }
  void restart(Worker& worker) { worker = {worker.name, ++nonces_, {}, worker.is_storage, false, {}}; }

  void disturb() {
    if (below(40) == 0) {
      *plan_ = CrashPlan{1 + below(8), below(2) == 0 ? WriteFate::kLost : WriteFate::kDurable, false};
    }
    if (below(60) != 0) return;
    Worker& worker = workers_[below(workers_.size())];
    const ProcessIncarnation lost = worker.number;
    restart(worker);
    if (lost.value != 0) perform(core_->gone(lost, "killed", now_));
  }

  // One thing that somebody says, drawn at random.
  void work() {
    if (!looks_.empty() && below(4) == 0) return end_look();
    if (below(4) == 0) return perform(core_->tick(now_));
    Worker& worker = workers_[below(workers_.size())];
    if (!worker.is_in) return perform(core_->hear(join_of(worker), now_));
    switch (below(3)) {
      case 0: return perform(core_->hear(Heartbeat{worker.number, 1}, now_));
      case 1: return get_ready(worker);
      default: return vote(StageId{static_cast<std::uint32_t>(below(kStages))});
    }
  }
  [[nodiscard]] Join join_of(const Worker& worker) const {
    Join join;
    join.name = worker.name;
    join.nonce = worker.nonce;
    join.previous = worker.number;
    join.role = worker.is_storage ? ProcessRole::kStorage : ProcessRole::kNode;
    join.serves = worker.serves;
    return join;
  }
  void get_ready(const Worker& worker) {
    for (const ServedReplica served : worker.serves) {
      if (core_->view().contains(served.replica)) continue;
      return perform(core_->hear(StageReady{served.stage, served.replica, worker.number, served.version, 5}, now_));
    }
  }
  void vote(StageId stage) {
    const View& view = core_->view();
    if (core_->phase() != SupervisorCore::Phase::kTraining || view.replicas_of(stage).empty()) return;
    if (view.committed_steps() >= kSteps) return conclude();
    Prepared vote;
    vote.order = {
        RunId{9}, view.branch(), term_, stage, StepId{view.committed_steps()}, {view.members().group_of(stage), 2}};
    vote.position = view.position();
    vote.manifests = {{view.replicas_of(stage)[0].incarnation, {{MicrobatchId{0}, 10, 1.0, {}}}}};
    perform(core_->hear(vote, now_));
    save();
  }
  // Puts the shards of a due commit on the disk at once.
  void save() {
    const std::uint64_t step = core_->view().committed_steps();
    if (plan_->is_dead || step == 0 || (step % 3 != 0 && step != kSteps)) return;
    checkpoint_ = {step, step, true, "sha"};
    perform(core_->hear(CheckpointSaved{core_->view().branch(), step, "sha", 1, 0.1}, now_));
  }
  void conclude() {
    save();
    perform(core_->hear(EvaluationResult{core_->view().branch(), kSteps, 1, 1, 1, true}, now_));
  }

  std::mt19937_64 random_;
  Numbering numbering_;
  Instant now_ = Instant{} + std::chrono::hours(1);
  std::shared_ptr<CrashPlan> plan_ = std::make_shared<CrashPlan>();
  std::unique_ptr<CrashingJournal> journal_;
  std::optional<SupervisorCore> core_;
  Term term_;
  StartPoint checkpoint_;
  std::vector<LookEnd> looks_;  // of this life, that are still to be said
  std::vector<Worker> workers_;
  std::uint64_t nonces_ = 0;
  std::set<Incarnation> given_;
  std::set<ProcessIncarnation> processes_;
  std::set<Term> terms_;
};

// S-2: each step of a branch once, by a view that followed every entry.
View replayed(const WholeJournal& disk) {
  View view;
  for (const JournalEntry& entry : disk.all()) view.apply(entry);
  return view;
}

TEST(SupervisorKilled, AtRandomWritesGivesNoNumberTwiceAndComesToItsEnd) {
  const std::uint64_t first = std::random_device{}();
  std::cout << "seeds from " << first << "\n";
  int deaths = 0;
  std::uint64_t cuts = 0;
  for (std::uint64_t seed = first; seed < first + 300; ++seed) {
    World world(seed);
    ASSERT_TRUE(world.run()) << "seed " << seed << " hangs: " << world.why();
    EXPECT_EQ(world.ended_->exit_status, 0) << "seed " << seed << ": " << world.ended_->reason;
    EXPECT_TRUE(world.violations_.empty()) << "seed " << seed << ": " << world.violations_.front();
    EXPECT_EQ(replayed(*world.disk_).committed_steps(), kSteps) << "seed " << seed;
    deaths += world.deaths_ - 1;
    cuts += world.disk_->cuts();
    if (HasFailure()) break;
  }
  EXPECT_GT(deaths, 300) << "a test that kills nobody";
  EXPECT_GT(cuts, 300U) << "all read the whole journal";
}

TEST(SupervisorKilled, WithNumbersThatStartAgainIsFoundOut) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    World world(seed, Numbering::kForgetful);
    try {
      (void)world.run();
    } catch (const std::exception&) {
      ++found;  // a view that is asked to add somebody twice
      continue;
    }
    found += world.violations_.empty() ? 0 : 1;
  }
  EXPECT_EQ(found, 10);
}

}  // namespace
}  // namespace shoal::supervisor_kill_test
