// Runs that are long for their journal: thousands of tiny steps, disturbed before, at and behind its cuts. A process
// that starts, comes back or joins there begins with a snapshot in place of entries that are no longer kept (P-3a).
//
// A run of 3000 steps stands for all here. SHOAL_LONG_TESTS=1 in the environment runs every fault at every place, and
// one of 50000 steps in which a start and a join cost what they do in a short one.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/process_scene.h"

namespace shoal::long_run_test {
namespace {

using Words = std::vector<std::string>;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

constexpr Milliseconds kSoon{60'000};
constexpr Milliseconds kLongest{1'500'000};
constexpr std::size_t kFurther = 12;  // steps by which a disturbed run is seen to go on

bool is_long() { return std::getenv("SHOAL_LONG_TESTS") != nullptr; }

// Steps as small as they can be: their number is what counts.
SmallRun tiny(int stages, int replicas, int steps, Words more = {}) {
  Words sets = {"model.layers=2",    "model.width=8",      "model.heads=1",  "model.context=8",
                "batch.sequences=4", "batch.microbatch=1", "log.every=1000", "checkpoint.every=150"};
  sets.insert(sets.end(), more.begin(), more.end());
  return {stages, replicas, steps, std::move(sets)};
}

class LongRun : public testing::Test {
 protected:
  void start(SmallRun run) {
    run_ = std::move(run);
    Words words{"spawner", "--out", scene_.run().string()};
    for (auto& word : settings_of(scene_, run_)) words.push_back(std::move(word));
    begin(std::move(words));
    ASSERT_TRUE(scene_.wait_for_steps(3));
  }
  void reach(std::size_t step) {
    ASSERT_TRUE(wait_until([&] { return recorded() >= step; }, kLongest)) << step;
  }

  // Each of these disturbs the run and sees it go on.
  void kill_worker() {
    const std::size_t added = count_of("replica_added");
    const auto victim = scene_.worker_of("node1");
    ASSERT_TRUE(victim);
    ASSERT_EQ(::kill(victim->pid, SIGKILL), 0);
    ASSERT_TRUE(wait_until([&] { return count_of("replica_added") > added; }, kSoon)) << "nobody came back";
  }
  void kill_spawner() {
    const auto spawner = named_like(scene_.processes(), "internal-spawner");
    ASSERT_EQ(spawner.size(), 1U);
    ASSERT_EQ(::kill(spawner.front().pid, SIGKILL), 0);
    expect_further();
  }
  void kill_stage() {
    const std::size_t before = count_of("rolled_back");
    std::vector<pid_t> victims;
    for (const std::string& node : nodes_of_last_stage()) {
      if (const auto worker = scene_.worker_of(node)) victims.push_back(worker->pid);
    }
    ASSERT_EQ(victims.size(), static_cast<std::size_t>(run_.replicas));
    for (const pid_t victim : victims) ASSERT_EQ(::kill(victim, SIGKILL), 0);
    ASSERT_TRUE(wait_until([&] { return count_of("rolled_back") > before; }, kSoon));
    expect_further();
  }
  void stop_and_resume() {
    spawner_->signal(SIGTERM);
    ASSERT_EQ(spawner_->wait(kSoon), 75) << spawner_->err();
    for (const auto& [name, node] : nodes_) ASSERT_EQ(node->wait(kSoon), 0) << node->err();
    resume();
  }
  void kill_everything_and_resume() {
    for (const ProcessEntry& process : scene_.processes()) ::kill(process.pid, SIGKILL);
    ASSERT_TRUE(scene_.wait_until_all_gone(kSoon));
    resume();
  }
  // Returns how long it took to serve, in s.
  double join_late() {
    const std::size_t added = count_of("replica_added");
    const auto begun = Clock::now();
    Program& late = start_node("late" + std::to_string(late_++));
    EXPECT_TRUE(wait_until([&] { return count_of("replica_added") > added; }, kSoon)) << late.err();
    const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
    late.signal(SIGTERM);  // the node leaves between two steps
    EXPECT_EQ(late.wait(kSoon), 0) << late.err();
    return seconds;
  }

  void expect_end() {
    ASSERT_EQ(spawner_->wait(kLongest), 0) << spawner_->err();
    expect_books();
  }
  void expect_stop() {
    spawner_->signal(SIGTERM);
    ASSERT_EQ(spawner_->wait(kSoon), 75) << spawner_->err();
    expect_books();
  }
  void expect_books() {
    for (const auto& [name, node] : nodes_) EXPECT_EQ(node->wait(kSoon), 0) << name << ": " << node->err();
    Program& check = scene_.start({"trace", "check", scene_.run().string()});
    EXPECT_EQ(check.wait(kLongest), 0) << check.out() << check.err();
    EXPECT_TRUE(scene_.wait_until_all_gone(kSoon)) << describe(scene_.processes());
  }
  void expect_bits_of_one_process() {
    ASSERT_EQ(scene_.start(train(scene_, "single", run_, {"--single"})).wait(kLongest), 0);
    EXPECT_EQ(scene_.records().weights().size(), 64U);
    EXPECT_EQ(scene_.records().weights(), scene_.records("single").weights());
    SmallRun other = run_;  // the control: bits say which run it was
    other.sets.emplace_back("run.seed=8");
    ASSERT_EQ(scene_.start(train(scene_, "other", other, {"--single"})).wait(kLongest), 0);
    EXPECT_NE(scene_.records().weights(), scene_.records("other").weights());
  }

  [[nodiscard]] std::size_t recorded() {
    const RunRecords& records = records_.read();
    return records.steps.empty() ? 0 : records.steps.back().step + 1;
  }
  [[nodiscard]] std::size_t count_of(const std::string& event) {
    return static_cast<std::size_t>(std::ranges::count(records_.read().events, event, &EventLine::event));
  }
  void expect_further() {
    const std::size_t before = records_.read().steps.size();
    ASSERT_TRUE(wait_until([&] { return records_.read().steps.size() >= before + kFurther; }, kSoon))
        << spawner_->err();
  }
  void resume() {
    nodes_.clear();
    begin({"spawner", "--resume", scene_.run().string()});
    expect_further();
  }

  SmallRun run_;
  ProcessScene scene_;
  RecordsFollower records_{scene_.run() / "metrics.jsonl"};  // the file is long: nothing is read twice
  Program* spawner_ = nullptr;

 private:
  void begin(Words words) {
    spawner_ = &scene_.start(std::move(words));
    join_ = wait_for_join_words(*spawner_);
    ASSERT_FALSE(join_.empty());
    for (int node = 1; node <= run_.stages * run_.replicas; ++node) {
      const std::string name = "node" + std::to_string(node);
      nodes_[name] = &start_node(name);
    }
  }
  Program& start_node(const std::string& name) {
    Words words = join_;
    words.insert(words.end(), {"--name", name});
    return scene_.start(std::move(words));
  }
  [[nodiscard]] Words nodes_of_last_stage() {
    Program& ps = scene_.start({"ps", "--json", "--run", scene_.run().string()});
    EXPECT_EQ(ps.wait(kSoon), 0) << ps.err();
    const std::string stage = "stage/" + std::to_string(run_.stages - 1) + "/";
    Words nodes;
    for (const Json& actor : Json::parse(ps.out(), nullptr, false)) {
      if (actor.value("name", "").starts_with(stage)) nodes.push_back(actor.value("node", ""));
    }
    return nodes;
  }

  Words join_;  // words that start a node
  std::map<std::string, Program*> nodes_;
  int late_ = 1;
};

TEST_F(LongRun, MovesNoBitBehindTheCutsOfItsJournal) {
  ASSERT_NO_FATAL_FAILURE(start(tiny(2, 2, 3000, {"sync.reduction=exact"})));
  ASSERT_NO_FATAL_FAILURE(reach(500));  // all entries are there: the control
  ASSERT_NO_FATAL_FAILURE(kill_worker());
  ASSERT_NO_FATAL_FAILURE(reach(1040));
  ASSERT_NO_FATAL_FAILURE(kill_spawner());
  ASSERT_NO_FATAL_FAILURE(reach(1100));
  ASSERT_NO_FATAL_FAILURE(kill_worker());
  ASSERT_NO_FATAL_FAILURE(reach(1600));
  ASSERT_NO_FATAL_FAILURE(kill_stage());
  join_late();
  ASSERT_NO_FATAL_FAILURE(reach(2100));
  ASSERT_NO_FATAL_FAILURE(stop_and_resume());
  ASSERT_NO_FATAL_FAILURE(kill_everything_and_resume());
  expect_end();
  expect_bits_of_one_process();
}

// A member that dies between rounds loses its own steps: every token is merged or counted as lost (trace check).
// The other member trains on meanwhile, hundreds of steps in a second: the test ends the run, not a number of steps.
TEST_F(LongRun, KeepsTheBooksOfRoundsBehindTheCutsOfItsJournal) {
  ASSERT_NO_FATAL_FAILURE(start(tiny(1, 2, 1'000'000, {"sync.mode=diloco", "sync.H=10"})));
  ASSERT_NO_FATAL_FAILURE(reach(1100));
  ASSERT_NO_FATAL_FAILURE(kill_worker());
  ASSERT_NO_FATAL_FAILURE(kill_spawner());
  join_late();
  ASSERT_NO_FATAL_FAILURE(stop_and_resume());
  ASSERT_NO_FATAL_FAILURE(kill_stage());
  expect_stop();
}

struct LongCase {
  const char* name;
  int stages, replicas;
  Words sets;
  bool is_exact;
};

class LongRunOf : public LongRun, public testing::WithParamInterface<LongCase> {};

TEST_P(LongRunOf, SurvivesEverythingBeforeAtAndBehindEveryCut) {
  if (!is_long()) GTEST_SKIP() << "takes minutes: SHOAL_LONG_TESTS=1 runs it";
  const int steps = GetParam().is_exact ? 6000 : 1'000'000;
  ASSERT_NO_FATAL_FAILURE(start(tiny(GetParam().stages, GetParam().replicas, steps, GetParam().sets)));
  for (const std::size_t place : {500U, 1030U, 1100U, 1600U, 2100U, 5000U}) {
    ASSERT_NO_FATAL_FAILURE(reach(place));
    ASSERT_NO_FATAL_FAILURE(kill_worker());
    ASSERT_NO_FATAL_FAILURE(kill_spawner());
    const double seconds = join_late();
    ASSERT_NO_FATAL_FAILURE(kill_stage());
    ASSERT_NO_FATAL_FAILURE(stop_and_resume());
    ASSERT_NO_FATAL_FAILURE(kill_everything_and_resume());
    std::cout << "at " << place << ": all five, a late node served after " << seconds << " s\n";
  }
  if (!GetParam().is_exact) return expect_stop();
  expect_end();
  expect_bits_of_one_process();
}

INSTANTIATE_TEST_SUITE_P(Shapes, LongRunOf,
                         testing::Values(LongCase{"Exact2x2", 2, 2, {"sync.reduction=exact"}, true},
                                         LongCase{"Exact1x3", 1, 3, {"sync.reduction=exact"}, true},
                                         LongCase{"Rounds1x2", 1, 2, {"sync.mode=diloco", "sync.H=10"}, false}),
                         [](const auto& tested) { return std::string(tested.param.name); });

// VmRSS in MB.
double memory_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}

// What a run costs after so many steps: s, MB.
struct Costs {
  std::size_t steps = 0;
  double start = 0, join = 0;  // from a kill of the spawner, or the start of a node, until it is seen to serve
  double spawner = 0, worker = 0, journal = 0;
};

std::ostream& operator<<(std::ostream& out, const Costs& costs) {
  return out << costs.steps << ", " << costs.start << ", " << costs.join << ", " << costs.spawner << ", "
             << costs.worker << ", " << costs.journal;
}

// The journal is cut every 1024 entries, so the costs at 2000 steps are those of every later place.
TEST_F(LongRun, OfFiftyThousandStepsCostsWhatOneOfTwoThousandDoes) {
  if (!is_long()) GTEST_SKIP() << "takes minutes: SHOAL_LONG_TESTS=1 runs it";
  ASSERT_NO_FATAL_FAILURE(start(tiny(1, 2, 1'000'000, {"sync.reduction=exact", "checkpoint.every=1000"})));
  std::cout << "steps, start (s), join (s), spawner (MB), worker (MB), journal (MB)\n";
  std::vector<Costs> all;
  for (const std::size_t place : {1'000U, 2'000U, 10'000U, 20'000U, 50'000U}) {
    ASSERT_NO_FATAL_FAILURE(reach(place));
    ASSERT_NO_FATAL_FAILURE(kill_worker());
    Costs costs{.steps = place, .join = join_late()};
    const auto spawner = named_like(scene_.processes(), "internal-spawner");
    const auto worker = scene_.worker_of("node2");
    ASSERT_TRUE(spawner.size() == 1 && worker);
    costs.spawner = memory_of(spawner.front().pid);
    costs.worker = memory_of(worker->pid);
    const auto begun = Clock::now();
    ASSERT_NO_FATAL_FAILURE(kill_spawner());
    costs.start = std::chrono::duration<double>(Clock::now() - begun).count();
    costs.journal = static_cast<double>(std::filesystem::file_size(scene_.run() / "journal.db")) / 1e6;
    std::cout << costs << std::endl;
    all.push_back(costs);
  }
  const Costs &early = all[1], &late = all.back();
  EXPECT_LT(late.start, 2 * early.start + 1);
  EXPECT_LT(late.join, 2 * early.join + 1);
  EXPECT_LT(late.spawner, 1.2 * early.spawner);
  EXPECT_LT(late.worker, 1.1 * early.worker);
  EXPECT_LT(late.journal, 1.5 * early.journal);  // the file has the size of the most entries before any cut
  expect_stop();
}

}  // namespace
}  // namespace shoal::long_run_test
