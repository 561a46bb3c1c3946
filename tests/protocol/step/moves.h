// Everything that may happen in a state: one method per kind of move, one source file per actor.
//
// A move copies the state, changes the copy as the actor's rule says, and hands it on. Where a rule of the protocol
// decides, its number stands beside the condition; where the rule can be removed, the condition asks `rules`.
#pragma once

#include <string>

#include "tests/protocol/step/step_model.h"

namespace shoal::protocol {

class Moves {
 public:
  Moves(const StepModel& model, const State& state, Pace pace, Sink<State>& sink)
      : model_(model), rules_(model.rules), now_(state), pace_(pace), sink_(sink) {}

  // Gives every move of this pace to the sink.
  void all();

 private:
  // replica_moves.cpp
  void replica(int r);
  void replica_reads(int r);
  void replica_reads_commit(int r, Entry entry);
  void replica_reads_quarantine(State& next, int r, int b) const;
  void replica_reads_ahead(int r);
  void apply(int r, Entry commit, bool is_in_journal);
  void receive(int r, Message message);
  void receive_forward(int r, Message message);
  void answer_again(int r, Message message);
  void let_wait(int r, Message message);
  void answer_waiters(State& next, int r, int b, bool is_stale) const;
  void pass_on(int r, Message message, bool is_stale);
  void compute(int r, Message message, bool is_stale);
  void receive_reply(int r, Message message);
  void use_kept_answers(int r);
  void obey(int r, Message order);
  void repeat_manifest(int r);
  [[nodiscard]] bool has_missed_zero(int r, Message order) const;
  void take_order(State& next, int r, Message order) const;

  // sum_moves.cpp
  void reduce(int r);
  void add_up(int r, Message order);

  // router_moves.cpp
  void router(int requester);
  [[nodiscard]] bool passes_missing_on(int requester, int step, int b) const;
  void ask_again(State& next, int requester, int b) const;
  void router_sends_again(int requester, int b);
  void router_picks_another(int requester, int b, bool is_early);
  void router_reads_removal(State& next, int requester, int removed) const;
  void note_answer(State& next, int requester, Message answer) const;
  [[nodiscard]] bool is_good_target(int replica, int microbatch) const;

  // loader_moves.cpp, survey_moves.cpp
  void loader();
  void loader_reads();
  void loader_sends(int step, int microbatch);
  void loader_hears(int step, Message message);
  void loader_hears_holders(Message message);
  void loader_stops_asking();

  // group_moves.cpp, survey_moves.cpp
  void group(int g);
  void group_reads(int stage);
  void group_reads_ahead(int stage);
  void group_prepares(int g);
  void group_is_asked(int stage);
  [[nodiscard]] int known_holders(int g) const;
  void tell_holders(State& next, int g, int map) const;
  void group_repeats(int g);
  void group_decides(int g);
  void group_tells_verdict(int g, int missing, bool is_twice);
  void group_votes(int g);
  void group_gives_up(int g);
  [[nodiscard]] bool is_time_to_prepare(int stage) const;
  [[nodiscard]] bool begin_epoch(State& next, int g) const;

  // supervisor_moves.cpp
  void supervisor();
  void gather_votes(std::array<Message, kStages>& votes, int stage);
  void commit(const std::array<Message, kStages>& votes);
  void leave(const State& committed);
  void write_what_was_sent();
  void change_members();
  void quarantine();
  void joiners();
  [[nodiscard]] bool counts(Message message, int stage) const;

  // fault_moves.cpp
  void faults();
  void crash_replicas();
  void crash_groups();
  void spawn_joiners();

  // Hands on a state: its dead messages are dropped, its answers given. story() is called only if somebody reads it.
  template <class Story>
  void move(State& next, Story story) {
    ++made_;
    settle(next);
    if (const char* broken = model_.broken_in(next)) break_property(broken);
    sink_.take(next, broken_, sink_.wants_story() ? story() : std::string());
  }
  void settle(State& next) const;

  [[nodiscard]] bool is_calm() const { return pace_ != Pace::kAny; }
  [[nodiscard]] bool is_in_last_stage(int replica) const { return stage_of(replica) == model_.scope.stages() - 1; }
  [[nodiscard]] bool is_member(int position, int replica) const { return is_in(now_.members_at(position), replica); }
  // P-10
  [[nodiscard]] bool is_believed(int position, int replica) const {
    return !rules_.fence || is_member(position, replica);
  }
  void break_property(const char* property) {
    if (broken_ == nullptr) broken_ = property;
  }

  const StepModel& model_;
  const Rules& rules_;
  const State& now_;
  const Pace pace_;
  Sink<State>& sink_;
  int made_ = 0;
  const char* broken_ = nullptr;
};

// A step and a microbatch, an epoch and its group, for stories.
[[nodiscard]] std::string told(Message data);
[[nodiscard]] std::string told(Entry change);
[[nodiscard]] std::string told_epoch(int epoch);

// A group that begins anew from the journal, as a new incarnation; as_zombie: the old one lives on beside it.
void restart_group(const StepModel& model, State& next, int stage, bool as_zombie);
void restart_loader(const StepModel& model, State& next);

}  // namespace shoal::protocol
