// The supervisor's shell: entries are in the journal before letters leave (P-2), children are restarted, a journal that
// refuses halts the run, and status says why it waits.
#include "actors/supervisor.h"
#include "runtime/journal/follower.h"
#include "tests/actors/as_heard.h"
#include "tests/support/commit_policies.h"
#include "tests/support/journal/whole_journal.h"
#include "tests/support/sent_letters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <caf/scheduler/test_coordinator.hpp>
#include <memory>
#include <set>

namespace shoal::supervisor_test {
namespace {

// Refuses entries once it is full.
class BrittleJournal final : public JournalStore {
 public:
  [[nodiscard]] RunId run() const override { return inner_->run(); }
  [[nodiscard]] JournalPosition last_position() const override { return inner_->last_position(); }
  [[nodiscard]] JournalPosition begins_after() const override { return inner_->begins_after(); }
  [[nodiscard]] Result<JournalSnapshot> snapshot() override {
    if (is_damaged) return fail(Error::kInvalidData, "journal: the snapshot is damaged");
    return inner_->snapshot();
  }
  [[nodiscard]] Status cut(const JournalSnapshot& snapshot) override {
    if (is_full) return fail(Error::kIo, "journal: no space left on device");
    return inner_->cut(snapshot);
  }
  [[nodiscard]] Status append(const JournalEntry& entry) override {
    if (is_full) return fail(Error::kIo, "journal: no space left on device");
    return inner_->append(entry);
  }
  [[nodiscard]] Result<std::vector<JournalEntry>> load(JournalPosition after, std::size_t count_max) override {
    return inner_->load(after, count_max);
  }
  [[nodiscard]] Result<IncarnationBlock> reserve(IncarnationKind kind, std::uint64_t count) override {
    return inner_->reserve(kind, count);
  }
  [[nodiscard]] Result<Term> begin_term() override { return inner_->begin_term(); }
  [[nodiscard]] std::string kernels() const override { return inner_->kernels(); }
  [[nodiscard]] Status keep_kernels(const std::string& kernels) override {
    if (is_full) return fail(Error::kIo, "journal: no space left on device");
    return inner_->keep_kernels(kernels);
  }
  [[nodiscard]] WholeJournal& whole() { return *inner_; }
  bool is_full = false;
  bool is_damaged = false;

 private:
  std::unique_ptr<WholeJournal> inner_ = std::make_unique<WholeJournal>(RunId{9});
};

struct Look {
  FindCheckpoint wanted;
  TellLook tell;
};

struct Seen {
  std::vector<Look> looks;  // the disk hangs until the test answers
  std::vector<Letter> letters;
  std::shared_ptr<BrittleJournal> journal = std::make_shared<BrittleJournal>();
  std::vector<caf::actor> children;
  std::set<caf::actor_id> frozen;  // children that take no message
  bool is_router_frozen = false;
  int loaders = 0;
  int exit_status = -1;
  bool is_handed_over = false;
  std::vector<RunEvent> untold;  // left for the next start
  bool left_early = false;       // an entry was sent before it was in the journal
};

RouterActor::behavior_type fake_router(RouterActor::pointer, std::shared_ptr<Seen> seen) {
  return {
      [seen](const Letter& letter) {
        if (const auto* entries = std::get_if<JournalEntries>(&letter.body)) {
          const bool has_entries = !entries->entries.empty();
          seen->left_early |= has_entries && entries->entries.back().position > seen->journal->last_position();
        }
        seen->letters.push_back(letter);
      },
      [](const Inject&) {},
      [](const WireFrame&) {},
      [](const LaneLetter&) {},
      [](const LaneChange&) {},
      [](const LaneProgress&) {},
      [](const Attach&) {},
      [](const Detach&) {},
      [](const Dialled&) {},
      [](const Identify&) {},
      [](const TensorCopied&) {},
      [seen](const Ping&) -> caf::result<void> {
        if (seen->is_router_frozen) return caf::skip();
        return caf::unit;
      },
      [](const Tick&) {},
  };
}

caf::behavior child(caf::event_based_actor* self, const std::shared_ptr<Seen>& seen) {
  return {[self, seen](const Ping&) -> caf::result<void> {
    if (seen->frozen.contains(self->id())) return caf::skip();
    return caf::unit;
  }};
}

class World {
 public:
  // past: what the journal holds already; and the journal of an earlier start.
  explicit World(const std::vector<JournalEntry>& past = {}, std::shared_ptr<BrittleJournal> journal = nullptr) {
    if (journal) seen->journal = std::move(journal);
    for (const JournalEntry& entry : past) EXPECT_TRUE(seen->journal->append(entry).ok());
    config_.set("scheduler.policy", caf::atom("testing"));
    system = std::make_unique<caf::actor_system>(config_);
    scheduler_ = dynamic_cast<caf::scheduler::test_coordinator*>(&system->scheduler());
    scheduler_->clock().current_time += std::chrono::hours(1);
    router_ = system->spawn(fake_router, seen);
    SupervisorSettings settings;
    settings.core.run = RunId{9};
    settings.core.term = Term{1};
    settings.core.steps_target = 5;
    settings.core.policy = constant_rate(0.1, 0);
    settings.journal = seen->journal;
    settings.find_checkpoint = [this](const FindCheckpoint& wanted, TellLook tell) {
      seen->looks.push_back({wanted, std::move(tell)});
    };
    settings.router = router_;
    settings.start_group = [this](const StartGroup&) { return start_child(); };
    settings.start_data_loader = [this](const StartDataLoader&) { return ++seen->loaders, start_child(); };
    settings.leave_unwritten = [this](const RunEvent& event) { seen->untold.push_back(event); };
    settings.end_process = [this](const EndRun& end) {
      seen->exit_status = end.exit_status;
      seen->is_handed_over = end.is_handed_over;
    };
    supervisor_ = system->spawn(supervisor, settings);
    drain();
  }
  ~World() {
    end_supervisor();
    caf::anon_send_exit(router_, caf::exit_reason::kill);
    seen->children.clear();
    drain();
  }
  void end_supervisor() {
    caf::anon_send_exit(supervisor_, caf::exit_reason::user_shutdown);
    drain();
  }
  caf::actor_addr forget_supervisor() {
    end_supervisor();
    return std::exchange(supervisor_, nullptr).address();
  }
  void kill_supervisor() {
    caf::anon_send_exit(supervisor_, caf::exit_reason::kill);
    drain();
  }
  caf::actor start_child() {
    seen->children.push_back(system->spawn(child, seen));
    return seen->children.back();
  }
  void drain() { scheduler_->run(); }
  void advance(caf::timespan duration) {
    const auto end = scheduler_->clock().current_time + duration;
    while (scheduler_->clock().has_pending_timeout() && scheduler_->clock().schedule().begin()->first <= end) {
      scheduler_->trigger_timeout();
      drain();
    }
  }
  template <class Message>
  void tell(const Message& message) {
    caf::anon_send(supervisor_, as_heard(message));
    drain();
  }
  void stop(int status) {
    caf::anon_send(supervisor_, StopRequest{"a test", status});
    drain();
  }
  // Answers the newest look.
  void answer(Result<StartPoint> start) {
    seen->looks.back().tell(std::move(start));
    drain();
  }
  StatusReport status() {
    StatusReport report;
    caf::scoped_actor asker{*system};
    auto answer = asker->request(supervisor_, caf::infinite, StatusQuery{});
    drain();
    answer.receive([&](StatusReport& found) { report = found; },
                   [&](caf::error& error) { ADD_FAILURE() << system->render(error); });
    return report;
  }
  OperatorAnswer order(const std::string& name) {
    OperatorAnswer answer;
    caf::scoped_actor asker{*system};
    auto asked = asker->request(supervisor_, caf::infinite,
                                OperatorOrder{OperatorVerb::kKill, name, InjectKind::kKill, 0, "a test"});
    drain();
    asked.receive([&](OperatorAnswer& found) { answer = found; },
                  [&](caf::error& error) { ADD_FAILURE() << system->render(error); });
    return answer;
  }
  template <class Message>
  std::vector<Message> all() const {
    return bodies_of<Message>(seen->letters);
  }
  // One stage, one replica.
  void train() {
    Join join;
    join.name = "node1";
    join.nonce = 7;
    join.fingerprint.text = "gemm a";
    tell(join);
    const SpawnStage order = all<SpawnStage>().at(0);
    tell(StageReady{order.stage, order.replica, {}, 0, 1});
  }
  Prepared vote(std::uint64_t step = 0) const {
    Prepared vote;
    vote.order.run = RunId{9};
    vote.order.term = Term{1};
    vote.order.step = StepId{step};
    vote.order.epoch = Epoch{std::get<AppointGroup>(seen->journal->load(JournalPosition{1}, 1)->at(0).body).group, 2};
    vote.position = seen->journal->last_position();
    vote.manifests = {{Incarnation{1}, {{MicrobatchId{0}, 4, 1.0, {}}}}};
    return vote;
  }

  std::shared_ptr<Seen> seen = std::make_shared<Seen>();
  std::unique_ptr<caf::actor_system> system;

 private:
  caf::actor_system_config config_;
  caf::scheduler::test_coordinator* scheduler_ = nullptr;
  RouterActor router_;
  SupervisorActor supervisor_;
};

TEST(SupervisorActor, RecordsEntriesBeforeTheyLeave) {  // P-2
  World world;
  world.train();
  world.tell(world.vote());
  EXPECT_EQ(world.seen->journal->last_position(), JournalPosition{3});
  EXPECT_FALSE(world.seen->left_early);
  EXPECT_FALSE(world.all<JournalEntries>().empty());
}

TEST(SupervisorActor, HaltsWithTheCommitThatCannotBeRecorded) {
  World world;
  world.train();
  world.seen->journal->is_full = true;
  const std::size_t before = world.all<JournalEntries>().size();
  world.tell(world.vote());
  EXPECT_EQ(world.all<JournalEntries>().size(), before);
  world.advance(std::chrono::seconds(10));
  EXPECT_EQ(world.seen->exit_status, 3);
}

TEST(SupervisorActor, RecordsTheKernelsOfTheRunAndKnowsThemAtItsNextStart) {
  World world;
  EXPECT_EQ(world.seen->journal->kernels(), "");
  world.train();
  EXPECT_EQ(world.seen->journal->kernels(), "gemm a");
  for (const char* kernels : {"gemm a", "gemm b"}) {
    World next({}, world.seen->journal);
    Join join;
    join.name = "node2";
    join.nonce = 8;
    join.fingerprint.text = kernels;
    next.tell(join);
    const auto events = next.all<RunEvent>();
    const auto is_warning = [](const RunEvent& event) { return event.kind == RunEventKind::kMixedKernels; };
    EXPECT_EQ(std::ranges::any_of(events, is_warning), std::string(kernels) == "gemm b");
  }
}

// The checkpoint found its place on the disk, and the last entry did not.
TEST(SupervisorActor, TellsEverybodyOfAnEndThatCannotBeRecorded) {
  World world;
  world.train();
  for (std::uint64_t step = 0; step < 5; ++step) world.tell(world.vote(step));
  world.tell(CheckpointSaved{{}, 5, "abc", 1, 0.1});
  EXPECT_TRUE(world.all<EndProcess>().empty());
  world.seen->journal->is_full = true;
  world.tell(EvaluationResult{{}, 5, 1, 1, 1, true});
  ASSERT_FALSE(world.all<RunEvent>().empty());
  EXPECT_EQ(world.all<RunEvent>().back().kind, RunEventKind::kFailed);
  const auto orders = world.all<EndProcess>();
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].exit_status, 3U);
  world.advance(std::chrono::seconds(10));
  EXPECT_EQ(world.seen->exit_status, 3);
}

TEST(SupervisorActor, StartsAChildAgainThatEnds) {
  World world;
  world.train();
  ASSERT_EQ(world.seen->children.size(), 2U);
  for (std::size_t index = 0; index < 2; ++index) {
    caf::anon_send_exit(world.seen->children[index], caf::exit_reason::unhandled_exception);
    world.drain();
  }
  EXPECT_EQ(world.seen->children.size(), 4U);
  EXPECT_EQ(world.seen->loaders, 2);
  EXPECT_EQ(world.seen->journal->last_position(), JournalPosition{3});  // the new group was appointed
}

// A kill cannot be trapped: a link would take the supervisor along.
TEST(SupervisorActor, SurvivesTheKillOfAChild) {
  World world;
  world.train();
  for (std::size_t index = 0; index < 2; ++index) {
    caf::anon_send_exit(world.seen->children[index], caf::exit_reason::kill);
    world.drain();
  }
  EXPECT_EQ(world.seen->children.size(), 4U);
  EXPECT_EQ(world.status().steps_target, 5U);
}

TEST(SupervisorActor, ReplacesAChildThatDoesNotAnswerAndNoOther) {
  for (std::size_t index = 0; index < 2; ++index) {
    World world;
    world.train();
    world.advance(std::chrono::seconds(3));
    ASSERT_EQ(world.seen->children.size(), 2U) << "they answered";
    const caf::actor silent = world.seen->children[index];
    bool is_over = false;
    caf::actor_cast<caf::abstract_actor*>(silent)->attach_functor([&is_over] { is_over = true; });
    world.seen->frozen.insert(silent.id());
    world.advance(std::chrono::milliseconds(600));
    EXPECT_EQ(world.seen->children.size(), 2U) << "it may be slow";
    world.advance(std::chrono::milliseconds(900));
    EXPECT_EQ(world.seen->children.size(), 3U);
    EXPECT_TRUE(is_over) << "nobody waits for it any more";
    world.advance(std::chrono::seconds(3));
    EXPECT_EQ(world.seen->children.size(), 3U) << "its end is not another one's";
  }
}

TEST(SupervisorActor, JudgesNobodyWhileItsRouterIsSilentAndEndsItsProcessIfThatLasts) {
  World world;
  world.train();
  world.advance(std::chrono::seconds(3));
  const std::size_t told = world.all<RunEvent>().size();
  world.seen->is_router_frozen = true;
  world.seen->frozen.insert(world.seen->children[0].id());
  world.advance(std::chrono::milliseconds(2500));  // of node1 nothing is heard for more than 5 s
  EXPECT_EQ(world.all<RunEvent>().size(), told);
  EXPECT_EQ(world.seen->children.size(), 2U);
  EXPECT_EQ(world.seen->exit_status, -1);
  world.advance(std::chrono::milliseconds(1500));
  EXPECT_EQ(world.seen->exit_status, 1);
  EXPECT_TRUE(world.seen->is_handed_over) << "the nodes keep what they have";
  ASSERT_EQ(world.seen->untold.size(), 1U) << "metrics could not be told";
  EXPECT_EQ(world.seen->untold[0].kind, RunEventKind::kEscalated);
  EXPECT_EQ(world.seen->untold[0].subject, "router/spawner");
}

TEST(SupervisorActor, AnswersAnOrderBeforeItIsObeyed) {
  World world;
  world.train();
  const OperatorAnswer answer = world.order("metrics");
  EXPECT_EQ(answer.verdict, OperatorVerdict::kDone);
  EXPECT_TRUE(world.all<Inject>().empty());
  world.advance(std::chrono::seconds(1));
  ASSERT_EQ(world.all<Inject>().size(), 1U);
  EXPECT_EQ(world.all<Inject>()[0].target, to_metrics());
  EXPECT_EQ(world.order("nobody").verdict, OperatorVerdict::kUnknownName);
}

TEST(SupervisorActor, StreamsTheJournalFromWhereItIsAsked) {
  World world;
  world.train();
  const std::size_t before = world.all<JournalEntries>().size();
  world.tell(FetchJournal{ProcessIncarnation{1}, JournalPosition{1}});
  const auto sent = world.all<JournalEntries>();
  ASSERT_EQ(sent.size(), before + 1);
  EXPECT_EQ(sent.back().entries.size(), 1U);
  EXPECT_EQ(sent.back().entries[0].position, JournalPosition{2});
}

// A month's journal has millions of entries: never more than one letter of them is on its way to another process.
TEST(SupervisorActor, SendsALongJournalLetterByLetterAsItIsAsked) {
  std::vector<JournalEntry> past;
  for (std::uint64_t position = 1; position <= 7'000; ++position) {
    const auto microbatch = static_cast<std::uint32_t>(position);
    past.push_back({JournalPosition{position}, {}, Term{1}, Quarantine{StepId{0}, MicrobatchId{microbatch}, ""}});
  }
  World world(past);
  JournalFollower follower;
  std::size_t letters = 0;
  for (Instant now; follower.position() < world.seen->journal->last_position(); now += std::chrono::milliseconds(1)) {
    const auto after = follower.gap(now);
    ASSERT_TRUE(after) << "after " << letters << " letters, without a wait";
    const std::size_t before = world.all<JournalEntries>().size();
    world.tell(FetchJournal{ProcessIncarnation{5}, *after});
    const auto sent = world.all<JournalEntries>();
    ASSERT_EQ(sent.size(), before + 1);
    (void)follower.accept(sent.back(), now);
    ++letters;
  }
  EXPECT_EQ(letters, 4U);
  EXPECT_EQ(follower.position(), world.seen->journal->last_position());
}

// A journal that is cut between two letters would make actors that began with the first one skip entries.
TEST(SupervisorActor, GivesItsOwnProcessTheWholeJournalAtAStart) {
  std::vector<JournalEntry> past;
  for (std::uint64_t position = 1; position <= 5'000; ++position) {
    const auto microbatch = static_cast<std::uint32_t>(position);
    past.push_back({JournalPosition{position}, {}, Term{1}, Quarantine{StepId{0}, MicrobatchId{microbatch}, ""}});
  }
  World world(past);
  JournalFollower follower;
  for (const JournalEntries& sent : world.all<JournalEntries>()) (void)follower.accept(sent, Instant{});
  EXPECT_EQ(follower.position(), world.seen->journal->last_position());
}

std::vector<JournalEntry> journal_of_commits(std::uint64_t count) {
  std::vector<JournalEntry> entries{{JournalPosition{1}, {}, Term{1}, AddReplica{{}, {}, Incarnation{1}, {}, 0}}};
  Commit commit;
  commit.token_count = 10;
  for (; commit.step.value < count; ++commit.step.value) {
    entries.push_back({JournalPosition{commit.step.value + 2}, {}, Term{1}, commit});
  }
  return entries;
}

// How many entries are sent to who has none of them, until it has come to the end.
std::size_t entries_sent_to_a_joiner(World& world, JournalFollower& follower) {
  std::size_t count = 0;
  for (Instant now; follower.position() < world.seen->journal->last_position(); now += std::chrono::seconds(3)) {
    const std::size_t before = world.all<JournalEntries>().size();
    world.tell(FetchJournal{ProcessIncarnation{5}, follower.gap(now).value_or(JournalPosition{})});
    const auto sent = world.all<JournalEntries>();
    if (sent.size() != before + 1) return ADD_FAILURE() << "no answer", count;
    count += sent.back().entries.size();
    (void)follower.accept(sent.back(), now);
  }
  return count;
}

// A month's journal: what is read at a start and sent to who joins is bounded by what came since the last snapshot.
TEST(SupervisorActor, StartsAndSharesALongJournalByASnapshotAndTheEntriesAfterIt) {
  constexpr std::uint64_t kSteps = 100'000;
  const std::size_t kKeptMax = 2 * SnapshotSchedule::kEveryDefault;
  const auto journal = std::make_shared<BrittleJournal>();
  {
    World first(journal_of_commits(kSteps), journal);
    EXPECT_GT(journal->whole().take_loaded(), kSteps) << "there was no snapshot yet: the control";
    first.advance(std::chrono::milliseconds(200));
    EXPECT_EQ(journal->whole().cuts(), 1U);
  }
  (void)journal->whole().take_loaded();
  World world({}, journal);
  EXPECT_LE(journal->whole().take_loaded(), 2 * kKeptMax) << "once by itself, once for its own router";
  JournalFollower follower;
  EXPECT_LE(entries_sent_to_a_joiner(world, follower), kKeptMax);
  View view = follower.past();
  for (const JournalEntry& entry : follower.entries()) view.apply(entry);
  View whole;
  for (const JournalEntry& entry : journal->whole().all()) whole.apply(entry);
  EXPECT_EQ(view.state(), whole.state());
}

TEST(SupervisorActor, ThatCannotKeepASnapshotGoesOnWithAllEntries) {
  const auto journal = std::make_shared<BrittleJournal>();
  World world(journal_of_commits(2'000), journal);
  journal->is_full = true;
  world.advance(std::chrono::milliseconds(200));
  EXPECT_EQ(world.seen->exit_status, -1);
  EXPECT_EQ(journal->begins_after(), JournalPosition{});
}

TEST(SupervisorActor, DoesNotStartFromADamagedSnapshot) {
  const auto journal = std::make_shared<BrittleJournal>();
  World(journal_of_commits(2'000), journal).advance(std::chrono::milliseconds(200));
  ASSERT_GT(journal->begins_after(), JournalPosition{});
  journal->is_damaged = true;
  const World world({}, journal);
  EXPECT_EQ(world.seen->exit_status, exit_code(Error::kInvalidData));
}

TEST(SupervisorActor, TellsWhyItWaits) {
  World world;
  EXPECT_EQ(world.status().summary, "waiting for 1 node for stage 0");
  world.train();
  const StatusReport report = world.status();
  EXPECT_EQ(report.steps_target, 5U);
  EXPECT_EQ(report.run, "0000000000000009") << "as in spawner.json and in checkpoints";
  const auto is_stage = [](const ActorStatus& line) { return line.health.name == "stage/0/0"; };
  const auto stage = std::find_if(report.actors.begin(), report.actors.end(), is_stage);
  ASSERT_NE(stage, report.actors.end());
  EXPECT_EQ(stage->node, "node1");
  EXPECT_EQ(report.actors.front().node, "spawner");
}

// Loses the only replica: where all go back to is read from a disk that does not answer yet.
void lose_the_stage(World& world) {
  world.train();
  world.tell(StageEnded{StageId{0}, Incarnation{1}, "killed", {}});
  ASSERT_EQ(world.seen->looks.size(), 1U);
}

TEST(SupervisorActor, AnswersWhileADiskHangsAndGoesOnWhenItIsRead) {
  World world;
  lose_the_stage(world);
  world.advance(std::chrono::seconds(3));
  EXPECT_EQ(world.status().summary, "rolling back: looking for a checkpoint, since 3 s; stage/0 ended 3 s ago: killed");
  world.tell(Heartbeat{ProcessIncarnation{1}, 1, 7, {}});
  EXPECT_EQ(world.all<HeartbeatEcho>().size(), 1U);
  Join join;
  join.name = "node2";
  join.nonce = 8;
  world.tell(join);
  EXPECT_EQ(world.all<Welcome>().size(), 2U);
  EXPECT_EQ(world.order("nobody").verdict, OperatorVerdict::kUnknownName);
  EXPECT_EQ(world.all<SpawnStage>().size(), 1U);
  world.answer(StartPoint{});
  world.advance(std::chrono::seconds(1));
  EXPECT_EQ(world.all<SpawnStage>().size(), 2U);
  EXPECT_EQ(world.seen->looks.size(), 1U);
}

TEST(SupervisorActor, LooksAgainAfterADiskThatRefuses) {
  World world;
  lose_the_stage(world);
  world.answer(fail(Error::kIo, "I/O error"));
  world.advance(std::chrono::milliseconds(1500));
  ASSERT_EQ(world.seen->looks.size(), 2U);
  EXPECT_NE(world.seen->looks[0].wanted.look, world.seen->looks[1].wanted.look);
  world.seen->looks[0].tell(StartPoint{});
  world.drain();
  EXPECT_EQ(world.all<SpawnStage>().size(), 1U) << "that one was answered";
  world.answer(StartPoint{});
  world.advance(std::chrono::seconds(1));
  EXPECT_EQ(world.all<SpawnStage>().size(), 2U);
}

TEST(SupervisorActor, EndsByAStopWhileADiskHangs) {
  World world;
  lose_the_stage(world);
  world.stop(130);
  world.advance(std::chrono::seconds(10));
  EXPECT_EQ(world.seen->exit_status, 130);
  world.answer(StartPoint{});
  EXPECT_EQ(world.all<SpawnStage>().size(), 1U);
}

// The end of the process waits until nobody holds the actor.
TEST(SupervisorActor, IsNotHeldByALookThatGoesOn) {
  World world;
  lose_the_stage(world);
  const caf::actor_addr gone = world.forget_supervisor();
  world.advance(std::chrono::seconds(1));  // its own tick is on its way
  EXPECT_FALSE(caf::actor_cast<caf::strong_actor_ptr>(gone));
  world.answer(StartPoint{});
}

TEST(SupervisorActor, EndsItsChildrenWithItself) {
  World world;
  world.train();
  int ended = 0;
  for (const caf::actor& actor : world.seen->children) {
    caf::actor_cast<caf::abstract_actor*>(actor)->attach_functor([&ended] { ++ended; });
  }
  world.end_supervisor();
  EXPECT_EQ(ended, 2);
}

TEST(SupervisorActor, LeavesNoChildWhenItIsKilled) {
  World world;
  world.train();
  int ended = 0;
  for (const caf::actor& actor : world.seen->children) {
    caf::actor_cast<caf::abstract_actor*>(actor)->attach_functor([&ended] { ++ended; });
  }
  world.kill_supervisor();
  EXPECT_EQ(ended, 2);
}

}  // namespace
}  // namespace shoal::supervisor_test
