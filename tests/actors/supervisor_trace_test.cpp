// Tests that the consequences of a loss name its span in the trace, also where the disk was read in between.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "actors/supervisor.h"
#include "tests/actors/lone_actor.h"
#include "tests/runtime/data/scratch.h"
#include "tests/support/commit_policies.h"
#include "tests/support/journal/whole_journal.h"
#include "tests/support/manual_clock.h"

namespace shoal::supervisor_trace_test {
namespace {

using namespace std::chrono_literals;

caf::behavior child() {
  return {[](const Ping&) {}};
}

std::optional<TraceEvent> first_of(const std::vector<TraceEvent>& events, TraceKind kind, std::string_view word) {
  const auto is_it = [&](const TraceEvent& event) {
    return event.kind == kind && event.detail_text().starts_with(word);
  };
  const auto found = std::ranges::find_if(events, is_it);
  return found == events.end() ? std::nullopt : std::optional(*found);
}

TEST(SupervisorTrace, ARemovalAfterALateAnswerOfTheDiskNamesTheLoss) {
  const Scratch scratch;
  const std::string path = trace_path(scratch.path().string(), "spawner");
  LoneActor lone;
  std::vector<caf::actor> children;  // whom nobody holds ends
  const auto start_child = [&](const auto&) { return children.emplace_back(lone.system().spawn(child)); };
  TellLook tell;
  SupervisorSettings settings;
  settings.core.run = RunId{9};
  settings.core.term = Term{1};
  settings.core.steps_target = 5;
  settings.core.policy = constant_rate(0.1, 0);
  settings.journal = std::make_shared<WholeJournal>(RunId{9});
  settings.router = lone.router();
  settings.start_group = start_child;
  settings.start_data_loader = start_child;
  settings.find_checkpoint = [&tell](const FindCheckpoint&, TellLook later) { tell = std::move(later); };
  settings.tracer = std::make_shared<Tracer>(TracerSettings{}, std::make_shared<ManualClock>());
  const auto boss = lone.spawn(supervisor, settings);
  lone.give(boss, Join{});
  ASSERT_EQ(lone.sent<SpawnStage>().size(), 1U);
  const SpawnStage order = lone.sent<SpawnStage>()[0];
  lone.give(boss, StageReady{order.stage, order.replica, {}, 0, 1});
  lone.give(boss, StageEnded{order.stage, order.replica, "killed", {}});
  lone.advance(300ms);
  ASSERT_TRUE(tell);
  tell(StartPoint{});
  lone.advance(100ms);
  ASSERT_TRUE(TraceDrain(settings.tracer, path, "spawner").flush().ok());
  const auto events = read_trace_file(path)->at(0).events;
  const auto lost = first_of(events, TraceKind::kFault, "stage_lost");
  const auto removed = first_of(events, TraceKind::kView, "RemoveReplica");
  ASSERT_TRUE(lost && removed);
  EXPECT_NE(lost->span, 0U);
  EXPECT_EQ(removed->cause.parent_span, lost->span);
  const auto added = first_of(events, TraceKind::kView, "AddReplica");
  EXPECT_TRUE(added && added->cause.parent_span == 0) << "the control";
}

}  // namespace
}  // namespace shoal::supervisor_trace_test
