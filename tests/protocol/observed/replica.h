// One replica of an observed run: every state that explains its events so far.
//
// Its router takes letters, in an order that the trace has; the replica reads them at moments that the trace does not
// have. Before each event the states are completed by what silent reading can lead to, and only those stay in which
// the event may happen. When none stays, the event is no step of the model. Letters are read in the order in which the
// router handed them on; it may have held those that name a position ahead of the journal (P-10, P-25a), so these may
// come later than others, in the order in which the journal reaches their positions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/protocol/observed/member_rounds.h"
#include "tests/protocol/observed/replica_rules.h"

namespace shoal::observed {

class Replica {
 public:
  explicit Replica(Setting setting) : setting_(setting) {
    ReplicaState first;
    first.term = setting.term;
    states_.insert(first);
  }

  [[nodiscard]] const Setting& setting() const { return setting_; }
  // The router of its process took a letter for it, or threw the letter of this span away after all.
  void take(const Letter& letter);
  void lose(std::uint64_t span);

  // Its own events: entries, jobs, accumulations, digests, drops, its end.
  [[nodiscard]] std::optional<Objection> read(const TracedEntry& entry);
  [[nodiscard]] std::optional<Objection> show(const TraceEvent& event);
  // Its router sends a letter of its own: whatever it says, some state has said.
  [[nodiscard]] std::optional<Objection> say(const Letter& letter);

  // Returns all that it can have named in the manifest of an epoch; empty: it gave none.
  [[nodiscard]] std::set<Microbatches> manifests_of(StepId step, const Epoch& epoch) const;
  // Only the states stay in which it named just that.
  [[nodiscard]] std::optional<Objection> gave(StepId step, const Epoch& epoch, Microbatches microbatches);
  // Tells if it took part in the sum of an epoch.
  [[nodiscard]] bool has_contributed(const Epoch& epoch) const;
  [[nodiscard]] std::size_t state_count() const { return states_.size(); }

 private:
  using States = std::set<ReplicaState>;
  using Change = std::function<std::optional<Objection>(ReplicaState&)>;
  struct Queued {
    Letter letter;
    bool is_lost = false;
  };

  // P-32, P-34: what is due is read, and what was missed has come.
  [[nodiscard]] std::optional<Objection> judge_update(const ReplicaState& state) const;
  // All states that silent reading leads to.
  [[nodiscard]] States completed() const;
  // Reads the next letter of either queue, or the early order that is due.
  [[nodiscard]] std::vector<Heard> next_heard(const ReplicaState& state) const;
  void hear_prompt(const ReplicaState& state, std::vector<Heard>& all) const;
  void hear_late(const ReplicaState& state, std::vector<Heard>& all) const;
  [[nodiscard]] std::vector<Heard> heard_of(const ReplicaState& state, const Queued& queued) const;
  // Keeps what `change` allows; the objection of the state that has read most, if none is left.
  [[nodiscard]] std::optional<Objection> keep(const States& from, const Change& change);
  // Keeps what the reading of a letter of this kind leads to that shows so at once.
  [[nodiscard]] std::optional<Objection> keep_heard(Shows shows, const Objection& otherwise);
  [[nodiscard]] std::optional<Objection> begin(const TraceEvent& event);
  [[nodiscard]] std::optional<Objection> end(const TraceEvent& event);
  [[nodiscard]] std::optional<Objection> drop(const TraceEvent& event);
  // States need not carry for ever what was said long ago.
  void archive();

  const Setting setting_;
  States states_;
  std::vector<Queued> prompt_, held_;
  MemberRounds rounds_;
  std::map<std::uint64_t, std::pair<std::string, std::uint32_t>> jobs_;  // by span: word, microbatch
  std::set<std::pair<StepId, std::uint32_t>> computed_, answered_;       // P-11: what it has said of its own work
  std::set<Given> old_manifests_, old_contributions_;
  std::set<Refused> old_refusals_;
};

}  // namespace shoal::observed
