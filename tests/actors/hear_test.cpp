// The handlers of an actor's letters: which bodies they must be for, and which of them takes a letter.
#include "actors/hear.h"

#include <string>

#include <gtest/gtest.h>

namespace shoal::hear_test {
namespace {

struct TakesReport {
  int* taken = nullptr;
  void operator()(const ReplicaReport&) const { ++*taken; }
};
struct TakesResult {
  void operator()(const EvaluationResult&) const {}
};
struct TakesEvent {
  RunEventKind* event = nullptr;
  void operator()(const RunEvent& told) const { *event = told.kind; }
};
struct TakesForward {
  void operator()(const Forward&) const {}
};
struct TakesInject {
  void operator()(const Inject&) const {}
};

TEST(Hear, WantsOneHandlerForEachBodyOfTheCatalogue) {
  constexpr Hearer kActor = Hearer::kMetrics;
  static_assert(kHearsAll<kActor, TakesReport, TakesResult, TakesEvent>);
  static_assert(kHearsAll<kActor, TakesEvent, TakesReport, TakesResult>, "in any order");
  static_assert(!kHearsAll<kActor, TakesReport, TakesResult>, "one is forgotten");
  static_assert(!kHearsAll<kActor, TakesReport, TakesResult, TakesEvent, TakesEvent>, "one is there twice");
  static_assert(!kHearsAll<kActor, TakesReport, TakesResult, TakesEvent, TakesForward>, "metrics hear no Forward");
  static_assert(!kHearsAll<kActor, TakesReport, TakesResult, TakesEvent, TakesInject>, "it does not come as a letter");
  static_assert(!kHearsAll<Hearer::kStorage, TakesReport, TakesResult, TakesEvent>, "handlers of another actor");
}

TEST(Hear, GivesALetterToTheHandlerOfItsBodyAlone) {
  int reports = 0;
  RunEventKind event = RunEventKind::kStarted;
  const auto letters = hear<Hearer::kMetrics>(BodyHandlers{TakesReport{&reports}, TakesResult{}, TakesEvent{&event}});
  letters(Delivered{ReplicaReport{}});
  letters(Delivered{ReplicaReport{}});
  EXPECT_EQ(reports, 2);
  EXPECT_EQ(event, RunEventKind::kStarted);
  letters(Delivered{RunEvent{RunEventKind::kProcessLost, "node2", "killed", 1}});
  EXPECT_EQ(event, RunEventKind::kProcessLost);
  letters(Delivered{Forward{}});  // for others
  EXPECT_EQ(reports, 2);
}

}  // namespace
}  // namespace shoal::hear_test
