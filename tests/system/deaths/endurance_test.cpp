// Kill anything, again and again: runs on devices of a known pace, by a spawner and nodes of their own, end with the
// bits of one undisturbed process, with a trace that checks, and leave no process.
//
// One short storm stands for all here. SHOAL_LONG_TESTS=1 in the environment runs the rest, to be run by hand: every
// kind of actor and process in turn, twice; twenty storms (SHOAL_STORMS: how many); silences; links that break. Steps
// take a second then, and each of these runs a minute or three.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <random>
#include <set>

#include "runtime/trace/report/run_trace.h"
#include "tests/emulator/emulator.h"
#include "tests/support/process_scene.h"

namespace shoal::endurance_test {
namespace {

using Words = std::vector<std::string>;
using testing::TestWithParam;

constexpr int kSteps = 60;
constexpr Milliseconds kSoon{30'000};
constexpr Milliseconds kLongest{600'000};
constexpr Milliseconds kFarewell{5'000};
constexpr Milliseconds kBetweenFaults{3'000};
constexpr int kDeadAfterMs = 4'000;

bool is_long() { return std::getenv("SHOAL_LONG_TESTS") != nullptr; }

struct Shape {
  int stages = 2;
  int replicas = 2;
};

std::string name_of(const Shape& shape) { return std::to_string(shape.stages) + "x" + std::to_string(shape.replicas); }

class Endurance : public testing::Test {
 protected:
  // pace_ms: of a forward; a backward takes twice as long. Eight microbatches a step.
  void start(const Shape& shape, int pace_ms) {
    shape_ = shape;
    pace_ms_ = pace_ms;
    run_ = {shape.stages,
            shape.replicas,
            kSteps,
            {"sync.reduction=exact", "trace.level=all", "eval.every=0", "checkpoint.every=10", "batch.sequences=16",
             "batch.microbatch=2", "swarm.dead_after_ms=" + std::to_string(kDeadAfterMs)}};
    ASSERT_EQ(scene_.run_to_end(train(scene_, "single", run_, {"--single"})), 0);
    Words words{"spawner", "--out", scene_.run().string()};
    for (auto& word : settings_of(scene_, run_)) words.push_back(std::move(word));
    spawner_ = &scene_.start(std::move(words));
    join_ = wait_for_join_words(*spawner_);
    ASSERT_FALSE(join_.empty());
    for (int node = 1; node <= shape.stages * shape.replicas; ++node) start_node("node" + std::to_string(node));
    ASSERT_TRUE(scene_.wait_for_steps(3));
  }

  // A keeper that was killed is started again, as a service manager would.
  void start_node(const std::string& name) {
    Words words = join_;
    words.insert(words.end(), {"--name", name, "--device", "paced:" + std::to_string(pace_ms_)});
    nodes_[name] = &scene_.start(std::move(words));
  }
  void keep_nodes() {
    for (const auto& [name, keeper] : nodes_) {
      const auto status = keeper->wait(Milliseconds(0));
      if (status && *status != 0) start_node(name);
    }
  }
  // Waits until the run is over, at most so long. Returns whether it is.
  bool pass(Milliseconds limit) {
    return wait_until([&] { return keep_nodes(), spawner_->wait(Milliseconds(0)).has_value(); }, limit);
  }

  [[nodiscard]] std::optional<pid_t> pid_of(const std::string& program, const std::string& words) const {
    const auto found = named_like(named_like(scene_.processes(), program), words);
    return found.empty() ? std::nullopt : std::optional(found.front().pid);
  }
  [[nodiscard]] std::optional<pid_t> worker(const std::string& node) const {
    return pid_of("shoal-worker node", "--name " + node + " ");
  }
  // Injects by `shoal kill`; a target on its way back is waited for.
  void inject(const std::string& target, const std::string& how) {
    const auto is_done = [&] {
      keep_nodes();
      return scene_.run_to_end({"kill", target, "--how", how, "--run", scene_.run().string()}) == 0;
    };
    EXPECT_TRUE(wait_until(is_done, kSoon)) << target << " by " << how;
  }
  void signal(const std::function<std::optional<pid_t>()>& whom, int number) {
    std::optional<pid_t> victim;
    ASSERT_TRUE(wait_until([&] { return keep_nodes(), (victim = whom()).has_value(); }, kSoon));
    EXPECT_EQ(::kill(*victim, number), 0);
  }
  void silence(const std::function<std::optional<pid_t>()>& whom, Milliseconds duration) {
    std::optional<pid_t> victim;
    ASSERT_TRUE(wait_until([&] { return keep_nodes(), (victim = whom()).has_value(); }, kSoon));
    EXPECT_EQ(::kill(*victim, SIGSTOP), 0);
    pass(duration);
    ::kill(*victim, SIGCONT);
  }

  void expect_undisturbed_end() {
    ASSERT_TRUE(pass(kLongest)) << "the run does not end";
    ASSERT_EQ(spawner_->wait(kSoon), 0) << spawner_->err();
    // A worker that was killed so late that its next life finds no spawner looks for it for ever.
    for (const auto& [name, keeper] : nodes_) {
      if (!keeper->wait(kFarewell)) keeper->signal(SIGTERM);
    }
    const RunRecords records = scene_.records();
    std::set<std::uint64_t> steps;  // a stage that lost all its replicas sends the run back: some are there twice
    for (const StepLine& line : records.steps) steps.insert(line.step);
    EXPECT_EQ(steps.size(), static_cast<std::size_t>(kSteps));
    EXPECT_EQ(records.weights().size(), 64U);
    EXPECT_EQ(records.weights(), scene_.records("single").weights());
    Program& check =
        scene_.start({"trace", "check", scene_.run().string(), "--against", scene_.run("single").string()});
    EXPECT_EQ(check.wait(kLongest), 0) << check.out() << check.err();
    EXPECT_TRUE(scene_.wait_until_all_gone(kSoon)) << describe(scene_.processes());
  }
  // The control: the bits say which run it was.
  void expect_other_bits_of_another_seed() {
    SmallRun other = run_;
    other.sets.emplace_back("run.seed=8");
    ASSERT_EQ(scene_.run_to_end(train(scene_, "other", other, {"--single"})), 0);
    EXPECT_NE(scene_.records().weights(), scene_.records("other").weights());
  }

  Shape shape_;
  int pace_ms_ = 0;
  SmallRun run_;
  ProcessScene scene_;
  Program* spawner_ = nullptr;
  Words join_;  // words that start a node
  std::map<std::string, Program*> nodes_;
};

// Counts how often each kind of actor was made to fail between the plan of a step and its commit, by the trace.
std::map<std::string, int> faults_in_steps(const RunTrace& trace) {
  std::map<std::string, int> found;
  bool is_in_step = false;
  for (const TracedEvent& traced : trace.events) {
    const std::string& actor = trace.actor_of(traced);
    const std::string_view detail = traced.event.detail_text();
    if (traced.event.kind == TraceKind::kPlan) is_in_step = true;
    if (traced.event.kind == TraceKind::kCommit && actor == "supervisor") is_in_step = false;
    if (traced.event.kind != TraceKind::kFault || !detail.starts_with('#') || !is_in_step) continue;
    const auto name = detail.substr(detail.find(' ') + 1);
    ++found[std::string(name.substr(0, name.find('/')))];
  }
  return found;
}

// Lives of this process that were cut off.
std::ptrdiff_t lives_cut_off(const RunTrace& trace, const std::string& process) {
  return std::ranges::count_if(
      trace.lives, [&](const ProcessLife& life) { return life.name.starts_with(process) && !life.is_whole; });
}

const std::vector<Shape> kShapes = {{2, 2}, {3, 2}};
const auto name_of_shape = [](const auto& tested) { return "Of" + name_of(tested.param); };

class EveryKindInTurn : public Endurance, public testing::WithParamInterface<Shape> {};

TEST_P(EveryKindInTurn, MovesNoBit) {
  if (!is_long()) GTEST_SKIP() << "takes minutes: SHOAL_LONG_TESTS=1 runs it";
  ASSERT_NO_FATAL_FAILURE(start(GetParam(), 100));
  const Words hows = {"exit", "throw", "kill"};
  std::size_t count = 0;
  for (const std::string turn : {"0", "1"}) {
    const std::string node = turn == "0" ? "node2" : "node3";
    const std::string other_node = turn == "0" ? "node4" : "node1";
    for (const std::string& target :
         Words{"stage/" + turn + "/0", "router/" + node, "data_loader", "sync_group/" + turn, "metrics",
               "tracer/" + other_node, "node_agent/" + node, "storage", "control"}) {
      inject(target, hows[count++ % hows.size()]);
      ASSERT_FALSE(pass(kBetweenFaults)) << "the run was over before all were killed";
    }
    ASSERT_NO_FATAL_FAILURE(signal([&] { return worker(node); }, SIGKILL));
    ASSERT_FALSE(pass(kBetweenFaults));
    ASSERT_NO_FATAL_FAILURE(signal([&] { return std::optional(nodes_.at(other_node)->pid()); }, SIGKILL));
    ASSERT_FALSE(pass(kBetweenFaults));
    ASSERT_NO_FATAL_FAILURE(signal([&] { return pid_of("shoal", "internal-spawner"); }, SIGKILL));
    ASSERT_FALSE(pass(kBetweenFaults));
  }
  expect_undisturbed_end();
  const auto trace = read_run_trace(scene_.run().string());
  ASSERT_TRUE(trace.ok());
  const auto found = faults_in_steps(*trace);
  for (const char* kind :
       {"stage", "router", "data_loader", "sync_group", "metrics", "tracer", "node_agent", "storage", "control"}) {
    EXPECT_TRUE(found.contains(kind) && found.at(kind) >= 2) << kind << " was not killed twice in the middle of a step";
  }
  EXPECT_GE(lives_cut_off(*trace, "spawner"), 2);
  EXPECT_GE(lives_cut_off(*trace, "node"), 4) << "two workers, two with their keepers";
}

INSTANTIATE_TEST_SUITE_P(Shapes, EveryKindInTurn, testing::ValuesIn(kShapes), name_of_shape);

struct StormCase {
  Shape shape;
  std::uint64_t seed = 0;
};

std::vector<StormCase> storms() {
  if (!is_long()) return {{{2, 2}, 1}};
  const char* const wished = std::getenv("SHOAL_STORMS");
  const std::uint64_t count = wished != nullptr ? std::stoull(wished) : 20;
  std::vector<StormCase> all;
  for (std::uint64_t seed = 1; seed <= count; ++seed) all.push_back({kShapes[seed % kShapes.size()], seed});
  return all;
}

class Storm : public Endurance, public testing::WithParamInterface<StormCase> {};

TEST_P(Storm, MovesNoBit) {
  ASSERT_NO_FATAL_FAILURE(start(GetParam().shape, is_long() ? 60 : 20));
  Program& chaos = scene_.start({"chaos", "--every", is_long() ? "3" : "2", "--seed", std::to_string(GetParam().seed),
                                 "--run", scene_.run().string()});
  expect_undisturbed_end();
  EXPECT_EQ(chaos.wait(kSoon), 0) << chaos.err();
  const std::string said = chaos.out();
  EXPECT_GE(std::ranges::count(said, '\n'), 5) << said;
  expect_other_bits_of_another_seed();
}

INSTANTIATE_TEST_SUITE_P(Seeds, Storm, testing::ValuesIn(storms()), [](const auto& tested) {
  return "Of" + name_of(tested.param.shape) + "Seed" + std::to_string(tested.param.seed);
});

class Silence : public Endurance, public testing::WithParamInterface<Shape> {};

// Silences of a second each cost nobody its place; others are three times as long as it takes to be given up.
TEST_P(Silence, MovesNoBit) {
  if (!is_long()) GTEST_SKIP() << "takes minutes: SHOAL_LONG_TESTS=1 runs it";
  ASSERT_NO_FATAL_FAILURE(start(GetParam(), 100));
  const std::vector<std::function<std::optional<pid_t>()>> processes = {
      [&] { return worker("node2"); }, [&] { return pid_of("shoal", "internal-storage"); },
      [&] { return pid_of("shoal", "internal-spawner"); }, [&] { return std::optional(nodes_.at("node3")->pid()); }};
  for (const auto& process : processes) silence(process, Milliseconds(1'000));
  EXPECT_EQ(std::ranges::count(scene_.records().events, "process_lost", &EventLine::event), 0) << "slow is not dead";
  for (const auto& process : processes) silence(process, Milliseconds(3 * kDeadAfterMs));
  for (const char* target : {"stage/1/1", "data_loader", "sync_group/1", "router/node1", "metrics", "storage"}) {
    inject(target, "freeze=1");
    pass(kBetweenFaults);
  }
  ASSERT_LT(scene_.records().steps.size(), static_cast<std::size_t>(kSteps)) << "the run was over before the faults";
  expect_undisturbed_end();
}

INSTANTIATE_TEST_SUITE_P(Shapes, Silence, testing::ValuesIn(kShapes), name_of_shape);

class BadLinks : public Endurance, public testing::WithParamInterface<Shape> {
 protected:
  BadLinks() { scene_.set_environment(network_.environment()); }
  LinkEmulator network_{3};
};

// Cuts and stalls of half a second to twice what it takes to be given up, resets and damage, on links by chance.
TEST_P(BadLinks, MoveNoBit) {
  if (!is_long()) GTEST_SKIP() << "takes minutes: SHOAL_LONG_TESTS=1 runs it";
  constexpr std::uint64_t kSeed = 3;
  std::cout << "seed " << kSeed << '\n';
  std::mt19937_64 random(kSeed);
  ASSERT_NO_FATAL_FAILURE(start(GetParam(), 100));
  const int nodes = shape_.stages * shape_.replicas;
  const auto end = [&](int index) { return index == 0 ? std::string("spawner") : "node" + std::to_string(index); };
  for (int fault = 0; fault < 16 && !pass(kBetweenFaults); ++fault) {
    const int one = static_cast<int>(random() % static_cast<std::uint64_t>(nodes + 1));
    const int other = (one + 1 + static_cast<int>(random() % static_cast<std::uint64_t>(nodes))) % (nodes + 1);
    const std::string way = random() % 2 == 0 ? " -> " : " <-> ";
    const Words kinds = {"cut", "stall", "cut", "stall", "reset", "corrupt"};
    const std::string kind = kinds[random() % kinds.size()];
    std::string order = kind + " " + end(one) + way + (random() % 4 == 0 ? "*" : end(other));
    if (kind == "cut" || kind == "stall") order += " for_ms=" + std::to_string(500 + random() % (2 * kDeadAfterMs));
    std::cout << order << '\n';
    EXPECT_TRUE(network_.command(order).ok()) << order;
  }
  ASSERT_LT(scene_.records().steps.size(), static_cast<std::size_t>(kSteps)) << "the run was over before the faults";
  expect_undisturbed_end();
}

INSTANTIATE_TEST_SUITE_P(Shapes, BadLinks, testing::ValuesIn(kShapes), name_of_shape);

}  // namespace
}  // namespace shoal::endurance_test
