// Runs that are disturbed are paths of the model of the protocol (tests/protocol), event by event.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "runtime/trace/report/run_trace.h"
#include "tests/protocol/observed/run.h"
#include "tests/support/process_scene.h"

namespace shoal::replay_test {
namespace {

constexpr std::size_t kBefore = 3;  // steps, before it is disturbed
constexpr std::size_t kBehind = 3;  // and behind it

struct Disturbance {
  const char* name;
  int stages, replicas;
  std::function<void(ProcessScene&, Program&)> disturb;  // the run goes on, or was stopped
  std::vector<std::string> sets = {};
};
void PrintTo(const Disturbance& disturbance, std::ostream* out) { *out << disturbance.name; }

SmallRun traced(const Disturbance& disturbance, int steps = kEndless) {
  std::vector<std::string> sets = {"sync.reduction=exact", "trace.level=all", "checkpoint.every=2", "model.width=16",
                                   "batch.sequences=8"};
  sets.insert(sets.end(), disturbance.sets.begin(), disturbance.sets.end());
  return {disturbance.stages, disturbance.replicas, steps, sets};
}

// Every second step ends in a round.
std::vector<std::string> rounds(const std::vector<std::string>& more = {}) {
  std::vector<std::string> sets = {"sync.mode=diloco", "sync.H=2"};
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

// The first member that answers closes a round, and the others miss it.
std::vector<std::string> rounds_of_a_quorum() { return rounds({"sync.quorum=1", "sync.grace_s=0"}); }

bool has_event(const ProcessScene& scene, const std::string& event) {
  return std::ranges::any_of(scene.records().events, [&](const EventLine& line) { return line.event == event; });
}

std::ptrdiff_t count_added(const ProcessScene& scene) {
  return std::ranges::count(scene.records().events, "replica_added", &EventLine::event);
}

auto kill_worker(const std::string& node) {
  return [node](ProcessScene& scene, Program&) {
    const auto victim = scene.worker_of(node);
    ASSERT_TRUE(victim);
    ASSERT_EQ(::kill(victim->pid, SIGKILL), 0);
    ASSERT_TRUE(wait_until([&] { return has_event(scene, "process_lost"); }, kRunLimit));
  };
}

auto kill_worker_and_wait_for_it(const std::string& node) {
  return [node](ProcessScene& scene, Program& program) {
    const auto added = count_added(scene);
    kill_worker(node)(scene, program);
    ASSERT_TRUE(wait_until([&] { return count_added(scene) > added; }, kRunLimit)) << "it did not come back";
  };
}

void kill_spawner(ProcessScene& scene, Program&) {
  const auto spawners = named_like(scene.processes(), "internal-spawner");
  ASSERT_EQ(spawners.size(), 1U);
  ASSERT_EQ(::kill(spawners.front().pid, SIGKILL), 0);
  ASSERT_TRUE(wait_until([&] { return has_event(scene, "resumed"); }, kRunLimit));
}

auto order(std::vector<std::string> words, const std::string& event) {
  return [words, event](ProcessScene& scene, Program&) {
    std::vector<std::string> command = words;
    command.insert(command.end(), {"--run", scene.run().string()});
    ASSERT_EQ(scene.run_to_end(command), 0);
    ASSERT_TRUE(wait_until([&] { return has_event(scene, event); }, kRunLimit)) << event;
  };
}

const std::vector<Disturbance>& disturbances() {
  static const std::vector<Disturbance> kAll = {
      {"WorkerOfOneStage", 1, 2, kill_worker("node1")},
      {"WorkerOfTheFirstStage", 2, 2, kill_worker("node1")},
      {"WorkerOfTheLastStage", 2, 2, kill_worker("node4")},
      {"WorkerThatJoinsAgain", 2, 2, kill_worker_and_wait_for_it("node2")},
      {"WorkerInTheMiddle", 3, 2, kill_worker("node3")},
      {"AllOfAStage", 2, 1, kill_worker("node2")},
      {"Spawner", 2, 2, kill_spawner},
      {"SyncGroup", 2, 2, order({"kill", "sync_group/1"}, "restarted")},
      {"DataLoader", 2, 2, order({"kill", "data_loader"}, "restarted")},
      {"Drain", 2, 2, order({"drain", "stage/1/1"}, "left")},
      {"ManyMicrobatches", 2, 2, kill_worker("node3"), {"batch.sequences=150"}},
      {"RoundsAndAWorker", 2, 2, kill_worker("node4"), rounds()},
      {"RoundsAndAWorkerThatJoinsAgain", 2, 2, kill_worker_and_wait_for_it("node2"), rounds()},
      {"RoundsAndAllOfAStage", 2, 1, kill_worker("node2"), rounds()},
      {"RoundsAndTheSpawner", 2, 2, kill_spawner, rounds({"sync.outer_update=delayed", "sync.fragments=2"})},
      {"RoundsAndASyncGroup", 2, 2, order({"kill", "sync_group/1"}, "restarted"), rounds()},
      {"RoundsOfAQuorumAndADrain", 1, 3, order({"drain", "stage/0/1"}, "left"), rounds_of_a_quorum()},
      {"RoundsOfAQuorumAndAWorker", 2, 2, kill_worker("node1"), rounds_of_a_quorum()},
  };
  return kAll;
}

void expect_path(const std::string& run) {
  const auto trace = read_run_trace(run);
  ASSERT_TRUE(trace.ok()) << trace.failure().message;
  const observed::Verdict verdict = observed::judge(*trace);
  EXPECT_FALSE(verdict.unknown) << *verdict.unknown;
  EXPECT_GT(verdict.judged, 300U);
  if (!verdict.objection) return;
  ADD_FAILURE() << verdict.objection->rule << ": " << verdict.objection->text << "\n"
                << (verdict.event ? observed::text_of(*trace, *verdict.event) : "");
}

// Finds the first event after a tenth of the trace of this kind with these words, or that begins with them where they
// end in a space; for a stage, unless it is a letter.
std::size_t find(const RunTrace& trace, TraceKind kind, const std::string& words) {
  for (std::size_t i = trace.events.size() / 10; i < trace.events.size(); ++i) {
    const TraceEvent& event = trace.events[i].event;
    const bool is_letter = kind == TraceKind::kSend || kind == TraceKind::kReceive;
    const bool is_of_stage = trace.actor_of(trace.events[i]).starts_with("stage/");
    const bool has_words = words.ends_with(' ') ? event.detail_text().starts_with(words) : event.detail_text() == words;
    if (event.kind == kind && has_words && (is_letter || is_of_stage)) return i;
  }
  ADD_FAILURE() << "no such event: " << words;
  return 0;
}

RunTrace without(const RunTrace& trace, TraceKind kind, const std::string& words) {
  RunTrace doctored = trace;
  doctored.events.erase(doctored.events.begin() + static_cast<std::ptrdiff_t>(find(trace, kind, words)));
  return doctored;
}

RunTrace without_job(const RunTrace& trace, const std::string& word) {
  RunTrace doctored = trace;
  const std::uint64_t span = trace.events[find(trace, TraceKind::kStart, word)].event.span;
  std::erase_if(doctored.events, [span](const TracedEvent& traced) {
    const TraceKind kind = traced.event.kind;
    return traced.event.span == span && (kind == TraceKind::kStart || kind == TraceKind::kEnd);
  });
  return doctored;
}

using Doctored = std::vector<std::pair<RunTrace, std::string>>;  // with the rule that each breaks

void expect_refused(const Doctored& all) {
  for (const auto& [doctored, rule] : all) {
    const observed::Verdict verdict = observed::judge(doctored);
    EXPECT_TRUE(verdict.objection) << "accepted, though it breaks " << rule;
    EXPECT_EQ(verdict.objection.value_or(observed::Objection{}).rule, rule);
  }
}

// Tampers with the trace in seven ways; each breaks a rule.
void expect_refused_where_it_is_doctored(const RunTrace& trace) {
  Doctored all;
  RunTrace twice = trace;
  const auto answer = static_cast<std::ptrdiff_t>(find(trace, TraceKind::kAccumulate, ""));
  twice.events.insert(twice.events.begin() + answer, twice.events[static_cast<std::size_t>(answer)]);
  all.emplace_back(std::move(twice), "P-7");
  RunTrace uncounted = trace;
  const auto share = std::ranges::find_if(uncounted.events.rbegin(), uncounted.events.rend(), [](const auto& traced) {
    return traced.event.kind == TraceKind::kManifest && traced.event.bytes > 0;
  });
  ASSERT_NE(share, uncounted.events.rend());
  share->event.detail.fill('\0');
  share->event.bytes = 0;
  all.emplace_back(std::move(uncounted), "P-8");
  all.emplace_back(without(trace, TraceKind::kReceive, "Manifest"), "P-16");
  all.emplace_back(without(trace, TraceKind::kSend, "Prepare"), "P-10");
  all.emplace_back(without(trace, TraceKind::kCommit, ""), "P-23");
  all.emplace_back(without(trace, TraceKind::kView, "AppointGroup"), "P-3");
  all.emplace_back(without(trace, TraceKind::kReceive, "Prepare"), "P-15");
  expect_refused(all);
}

// Tampers in seven ways with the trace of a run of rounds that members miss.
void expect_rounds_refused_where_they_are_doctored(const RunTrace& trace) {
  Doctored all;
  all.emplace_back(without(trace, TraceKind::kReceive, "StepSum"), "P-34");
  all.emplace_back(without(trace, TraceKind::kReceive, "Reduced round "), "P-19");
  all.emplace_back(without(trace, TraceKind::kReceive, "Manifest round "), "P-31a");
  all.emplace_back(without(trace, TraceKind::kSend, "Reduce round "), "P-10");
  all.emplace_back(without(trace, TraceKind::kView, "CommitRound"), "P-32");
  all.emplace_back(without_job(trace, "contribute_round"), "P-31");
  all.emplace_back(without_job(trace, "apply_round"), "P-32");
  expect_refused(all);
}

class Replay : public testing::TestWithParam<Disturbance> {};

TEST_P(Replay, OfADisturbedRunIsAPathOfTheModel) {
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", traced(GetParam())));
  ASSERT_TRUE(scene.wait_for_steps(kBefore));
  ASSERT_NO_FATAL_FAILURE(GetParam().disturb(scene, program));
  ASSERT_TRUE(scene.wait_for_steps(scene.records().steps.size() + kBehind));
  scene.stop(program);
  expect_path(scene.run().string());
}

INSTANTIATE_TEST_SUITE_P(Runs, Replay, testing::ValuesIn(disturbances()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Replay, OfARunThatWasStoppedAndGoesOnIsAPathOfTheModel) {
  const Disturbance calm{"", 2, 2, {}};
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", traced(calm)));
  ASSERT_TRUE(scene.wait_for_steps(kBefore));
  const auto done = scene.stop(program);
  const std::string further = std::to_string(std::stoi(done.back()) + 3);
  ASSERT_EQ(scene.run_to_end({"train", "--resume", scene.run().string(), "--steps", further}), 0);
  expect_path(scene.run().string());
  expect_refused_where_it_is_doctored(*read_run_trace(scene.run().string()));
}

TEST(Replay, OfARunOfRoundsIsAPathOfTheModelUnlessItIsDoctored) {
  const Disturbance calm{"", 1, 3, {}, rounds_of_a_quorum()};
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", traced(calm, 12))), 0);
  expect_path(scene.run().string());
  expect_rounds_refused_where_they_are_doctored(*read_run_trace(scene.run().string()));
}

}  // namespace
}  // namespace shoal::replay_test
