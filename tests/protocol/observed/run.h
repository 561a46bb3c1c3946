// A whole observed run: whether its trace is a path of the model, or the first event that is none.
//
// Actors share nothing but the journal and letters. So a run is a path of the model if each actor's own events are one
// of its own rules, every letter that is taken was sent before, and all read the same journal. That is what is checked,
// event by event in the order of time. A killed process may have left out the last of what it did: a letter of its that
// somebody took later than its last event needs no record of its sending. Nothing else may be missing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/trace/report/run_trace.h"
#include "runtime/trace/report/traced_journal.h"
#include "tests/protocol/observed/group.h"
#include "tests/protocol/observed/replica.h"
#include "tests/protocol/observed/requests.h"

namespace shoal::observed {

struct Verdict {
  std::optional<Objection> objection;
  std::optional<std::size_t> event;    // the first that the model does not allow; an index in RunTrace::events
  std::optional<std::string> unknown;  // why nothing can be said: what the model does not have, or the trace lacks
  std::uint64_t judged = 0;            // events
  std::size_t states_max = 0;          // that explained the events of one replica at once
  [[nodiscard]] bool is_path() const { return !objection && !unknown; }
};

[[nodiscard]] Verdict judge(const RunTrace& trace);

// "node1.trace, event 812 at 3.214567 s: stage/1/0 accumulate ...".
[[nodiscard]] std::string text_of(const RunTrace& trace, std::size_t event);

// Holds what stays the same from a run's start to its end.
struct RunShape {
  std::uint32_t microbatches = 0;
  bool has_rounds = false;  // sync.mode = diloco
};

// Microbatches that the data loader has sent, and had an answer to.
struct Loader {
  std::set<std::tuple<Branch, StepId, std::uint32_t>> sent, answered;
};

class Run {
 public:
  explicit Run(const RunTrace& trace);

  [[nodiscard]] Verdict judge();

 private:
  using OrderKey = std::tuple<StageId, Branch, Term, StepId, std::uint32_t>;  // the last: the counter of the epoch

  [[nodiscard]] std::optional<std::string> why_unknown() const;
  [[nodiscard]] std::optional<Objection> take(const TracedEvent& traced);
  [[nodiscard]] std::optional<Objection> take_of_stage(const TracedEvent& traced);
  [[nodiscard]] std::optional<Objection> take_of_router(const TracedEvent& traced);
  [[nodiscard]] std::optional<Objection> receive(const TracedEvent& traced);
  [[nodiscard]] std::optional<Objection> send(const TracedEvent& traced);
  [[nodiscard]] std::optional<Objection> say_of_replica(const TracedEvent& traced, const Letter& letter);
  [[nodiscard]] std::optional<Objection> say_of_group(const TracedEvent& traced);
  [[nodiscard]] std::optional<Objection> take_of_loader(const TracedEvent& traced);
  // entries.cpp: what the supervisor appends, and what a commit counts.
  [[nodiscard]] std::optional<Objection> append(const TracedEvent& traced);
  [[nodiscard]] std::optional<Objection> judge_entry(const TracedEntry& entry);
  [[nodiscard]] std::optional<Objection> judge_round(const TracedEntry& entry);
  [[nodiscard]] std::optional<Objection> judge_commit(const TracedEntry& entry);
  [[nodiscard]] std::optional<Objection> judge_part(const TracedEntry& entry, StageId stage, const TracedStage& part);
  [[nodiscard]] std::optional<Objection> judge_shares(const TracedEntry& entry, StageId stage, const TracedStage& part);

  [[nodiscard]] std::vector<OrderName> orders_of(const Letter& letter) const;
  [[nodiscard]] Hearing hearing_of(const Group& group, StepId step) const;
  [[nodiscard]] Microbatches plan_of(StepId step, JournalPosition position) const;
  [[nodiscard]] bool is_cut(std::uint32_t life, std::int64_t time_ns) const;
  [[nodiscard]] bool may_have_said(const Letter& letter, std::int64_t time_ns) const;

  const RunTrace& trace_;
  const TracedJournal journal_;
  const Standings standings_;
  RunShape shape_;
  std::vector<std::int64_t> router_end_ns_;                            // of each life: its router's last event
  std::map<Incarnation, std::pair<std::uint32_t, Replica>> replicas_;  // with the life of its process
  std::map<Incarnation, Group> groups_;
  std::map<std::uint64_t, Letter> sent_;  // by span
  std::map<OrderKey, std::set<OrderName>> said_;
  Loader loader_;
  std::set<std::tuple<Incarnation, StepId, std::uint32_t>> manifests_;  // that a router sent: member, step, counter
  RoundShares shares_;
  Answers answers_;
  Requests requests_;
  JournalPosition end_;
};

}  // namespace shoal::observed
