// Moves of a run of rounds: members read the journal, contribute, sum and apply at the boundary; groups ask, sum and
// vote; the supervisor commits steps and rounds, removes, adds and appoints, one entry at a time.
#pragma once

#include <string>

#include "tests/protocol/rounds/rounds_model.h"

namespace shoal::protocol::rounds {

class RoundsMoves {
 public:
  RoundsMoves(const RoundsModel& model, const State& state, Pace pace, Sink<State>& sink)
      : model_(model),
        rules_(model.rules),
        now_(state),
        view_(view_at(state, state.log_size)),
        pace_(pace),
        sink_(sink) {}

  void all();

 private:
  // member_moves.cpp
  void member(int r);
  void read(int r);
  void read_commit(State& next, int r);
  void read_round(State& next, int r, const Entry& entry);
  void read_removal(State& next, int r, int removed);
  void ask_next(State& next, int r, int round, int left_out);
  void obey(int r, const Message& order);
  void sum(int r, const Message& order);
  void take_mean(int r, const Message& mean);
  void leave_boundary(int r);

  // group_moves.cpp
  void group(int stage);
  void group_reads(int stage);
  [[nodiscard]] bool take_up(State& next, int stage) const;
  [[nodiscard]] bool announce(State& next, int stage, int round) const;
  void group_reduces(int stage, int round);
  void judge_shares(int stage, int round, int members);
  void group_votes(int stage, int round);
  void group_gives_up(int stage, int round);
  void appoint(State& next, int stage) const;

  // supervisor_moves.cpp
  void supervisor();
  void commit();
  void commit_rounds();
  void judge_round(const Message& vote);
  [[nodiscard]] bool counts(const Message& vote) const;
  void change_members();
  void leave();
  [[nodiscard]] bool may_leave_now() const;
  [[nodiscard]] bool has_other(int r) const;
  void joiners();
  void faults();

  // network.cpp: what nobody can act upon is dropped, answers that only add a message are given at once.
  void settle(State& next, bool with_parts) const;
  void move(State& next, const std::string& story);
  void break_property(const char* property) {
    if (broken_ == nullptr) broken_ = property;
  }
  [[nodiscard]] bool is_calm() const { return pace_ != Pace::kAny; }

  const RoundsModel& model_;
  const Rules& rules_;
  const State& now_;
  const View view_;
  const Pace pace_;
  Sink<State>& sink_;
  const char* broken_ = nullptr;
};

}  // namespace shoal::protocol::rounds
