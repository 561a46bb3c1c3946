// Moves in the life of the journal: the spawner starts, gathers, removes, adds, appoints and commits, one entry at a
// time; replicas and groups read; a step is one order, one sum of each member, one vote of each stage.
#pragma once

#include <string>

#include "tests/protocol/journal/journal_model.h"

namespace shoal::protocol::journal {

class JournalMoves {
 public:
  JournalMoves(const JournalModel& model, const State& state, Pace pace, Sink<State>& sink)
      : model_(model),
        rules_(model.rules),
        now_(state),
        view_(view_at(state, state.log_size)),
        pace_(pace),
        sink_(sink) {}

  void all();

 private:
  // replica_reads.cpp
  void replica(int p);
  void read(int p);
  void read_commit(State& next, int p, const Entry& entry);
  void fall_behind(int p);
  void obey(int p);

  // journal_moves.cpp
  void group(int stage);
  void group_reads(int stage);
  void group_orders(int stage);
  void group_votes(int stage);
  void save();

  // spawner_moves.cpp
  void spawner();
  void start();
  void come_back();
  void gather();
  void train();
  void commit();
  void leave();
  void start_over(State& next, bool is_thrown_back) const;
  void append(State& next, Entry entry) const;
  [[nodiscard]] bool lives(int p) const { return view_.members[p] != 0 && now_.replicas[p].number == view_.members[p]; }
  [[nodiscard]] bool is_served(int stage) const;
  [[nodiscard]] bool is_used(int p) const { return p != 1 || model_.scope.replicas > 1; }
  [[nodiscard]] bool counts(const Message& vote, int stage) const;
  void faults();

  // journal_network.cpp: what nobody can act upon is dropped, and harmless entries are read at once.
  void settle(State& next) const;
  void move(State& next, const std::string& story);
  void break_property(const char* property) {
    if (broken_ == nullptr) broken_ = property;
  }
  [[nodiscard]] bool is_calm() const { return pace_ != Pace::kAny; }

  const JournalModel& model_;
  const Rules& rules_;
  const State& now_;
  const View view_;
  const Pace pace_;
  Sink<State>& sink_;
  const char* broken_ = nullptr;
};

}  // namespace shoal::protocol::journal
