// Faults, as many as the search's budget says: ends of actors, restarts, joins.
//
// A false suspicion stands with the supervisor's moves, an early repeat with the router's, a time-out with the group's.
#include "tests/protocol/step/moves.h"

namespace shoal::protocol {
namespace {

constexpr int kIncarnationsMax = 3;  // of a group, by faults of groups alone

}  // namespace

void restart_loader(const StepModel& model, State& next) {
  const bool is_asking = next.commits() < model.scope.steps && model.rules.asks_holders;
  next.loader.position = next.log_size;
  next.loader.answered = 0;
  next.loader.requests.clear();
  next.loader.held.fill(kNoHolders);
  next.loader.heard = 0;
  next.loader.is_asking = byte(int{is_asking});
  const int step = next.commits();
  for (int stage = 0; stage < model.scope.stages(); ++stage) {
    for (int map = 0; map <= kNoHolders; ++map) next.drop(holders(stage, step, map));  // its own letters end with it
    if (is_asking) next.add(ask_holders(stage, step));
  }
}

void Moves::faults() {
  crash_replicas();
  if (now_.budget[kLoaderCrash] > 0) {
    State next = now_;
    --next.budget[kLoaderCrash];
    restart_loader(model_, next);
    move(next, [] { return std::string("*** the loader ends and starts again"); });
  }
  crash_groups();
  if (now_.budget[kSpawner] > 0) {
    State next = now_;
    --next.budget[kSpawner];
    next.has_unwritten = 0;
    next.unwritten = Entry{};
    next.drop_local();
    restart_loader(model_, next);
    for (int stage = 0; stage < model_.scope.stages(); ++stage) restart_group(model_, next, stage, false);
    move(next,
         [] { return std::string("*** the spawner ends: supervisor, loader and groups start from the journal"); });
  }
  spawn_joiners();
}

void Moves::crash_replicas() {
  for (int r = 0; r < kReplicas && now_.budget[kCrash] > 0; ++r) {
    if (!now_.replicas[r].is_alive) continue;
    State next = now_;
    --next.budget[kCrash];
    next.replicas[r].clear();
    move(next, [&] { return std::string("*** ") + name_of(r) + " ends"; });
  }
}

// A group that is replaced ends, or lives on and does not know it (P-21a).
void Moves::crash_groups() {
  for (int stage = 0; stage < model_.scope.stages(); ++stage) {
    if (now_.incarnations[stage] >= kIncarnationsMax) continue;
    for (const bool as_zombie : {false, true}) {
      const Fault fault = as_zombie ? kZombie : kGroupCrash;
      if (now_.budget[fault] == 0 || (as_zombie && now_.groups[stage + kStages].is_on)) continue;
      State next = now_;
      --next.budget[fault];
      restart_group(model_, next, stage, as_zombie);
      move(next, [&] {
        return "*** group " + std::to_string(stage) + " is replaced by incarnation " +
               std::to_string(next.incarnations[stage]) + (as_zombie ? " and lives on" : "");
      });
    }
  }
}

void Moves::spawn_joiners() {
  for (int j = 0; j < kReplicas && now_.budget[kJoin] > 0; ++j) {
    bool was_member = is_in(now_.first_members, j);
    for (int k = 0; k < now_.log_size; ++k)
      was_member |= (now_.log[k].is_removal() || now_.log[k].is_addition()) && now_.log[k].replica() == j;
    if (!is_joiner(j) || stage_of(j) >= model_.scope.stages() || now_.replicas[j].is_alive || was_member) continue;
    State next = now_;
    --next.budget[kJoin];
    Replica& joiner = next.replicas[j];
    joiner.clear();
    joiner.is_alive = 1;
    joiner.version = kNoVersion;
    joiner.position = next.log_size;
    move(next, [&] { return std::string("*** ") + name_of(j) + " is started"; });
  }
}

}  // namespace shoal::protocol
