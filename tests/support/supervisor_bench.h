// SupervisorCore with a journal that only lasts as long as the test: performs what it asks for, and keeps what it
// sends.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "messages/values/run_events.h"
#include "runtime/cluster/supervisor/supervisor.h"
#include "tests/support/commit_policies.h"
#include "tests/support/sent_letters.h"

namespace shoal {

inline SupervisorConfig two_by_two() {
  SupervisorConfig config;
  config.run = RunId{9};
  config.term = Term{1};
  config.stages = 2;
  config.replicas = 2;
  config.steps_target = 3;
  config.policy = constant_rate(0.1, 1);
  config.resume_hint = "resume with: shoal train --resume runs/x";
  return config;
}

// Performs effects as the actor does: an entry is kept (or refused) before anything that follows it.
class SupervisorBench {
 public:
  explicit SupervisorBench(SupervisorConfig config = two_by_two(), std::vector<JournalEntry> before = {},
                           std::string trained_with = {})
      : term(config.term),
        next_number(1000 * config.term.value - 999),
        core(std::move(config)),
        entries(std::move(before)),
        kernels(std::move(trained_with)) {
    core.replay_kernels(kernels);
    for (const JournalEntry& entry : entries) core.replay(entry);
    perform(core.begin(now));
  }

  bool perform(SupervisorEffects effects) {
    for (SupervisorEffect& effect : effects) {
      if (const auto* append = std::get_if<AppendEntry>(&effect)) {
        if (is_disk_full) return perform(core.journal_failed("disk full", 3, now)), false;
        entries.push_back(core.entry_for(append->body));
        if (!perform(core.appended(entries.back(), now))) return false;
      } else if (const auto* reserve = std::get_if<ReserveNumbers>(&effect)) {
        const std::uint64_t count = std::max<std::uint64_t>(200, reserve->count_min);
        core.reserved(reserve->are_processes, next_number, count);
        next_number += count;
      } else if (auto* keep = std::get_if<KeepKernels>(&effect)) {
        kernels = std::move(keep->kernels);
      } else if (const auto* letter = std::get_if<Letter>(&effect)) {
        sent.push_back(*letter);
      } else if (const auto* probe = std::get_if<ProbeProcess>(&effect)) {
        probed.push_back(probe->process);
      } else if (const auto* tell = std::get_if<TellPerson>(&effect)) {
        told.push_back(tell->text);
      } else if (const auto* end = std::get_if<EndRun>(&effect)) {
        ended = *end;
      } else if (const auto* find = std::get_if<FindCheckpoint>(&effect)) {
        not_beyond = find->not_beyond;
        looks.push_back(now);
        awaited = *find;
        if (!is_disk_slow && !answer_look()) return false;
      } else if (const auto* avoid = std::get_if<AvoidReplicas>(&effect)) {
        avoided = avoid->replicas;
      } else if (std::holds_alternative<StartDataLoader>(effect)) {
        ++loaders;
      } else if (const auto* group = std::get_if<StartGroup>(&effect)) {
        EXPECT_EQ(core.view().members().group_of(group->stage), group->group);  // P-1: appointed before it starts
      }
    }
    return true;
  }
  template <class Message>
  void hear(const Message& message) {
    perform(core.hear(message, now));
  }
  // Looks once after so long: a gap of more than a second is a pause of the supervisor's own.
  void later(Duration duration) {
    now += duration;
    perform(core.tick(now));
  }
  // Looks all the time, at least every second.
  void watch(Duration duration) {
    for (; duration > Duration::zero(); duration -= std::chrono::seconds(1)) {
      later(std::min<Duration>(duration, std::chrono::seconds(1)));
    }
  }
  void lose(ProcessIncarnation process) { perform(core.gone(process, "killed", now)); }
  // Heartbeats of these processes alone, for so many seconds.
  void beat(const std::vector<ProcessIncarnation>& processes, int count) {
    for (int second = 0; second < count; ++second) {
      for (const ProcessIncarnation process : processes) hear(Heartbeat{process, 1, 0, {}});
      later(std::chrono::seconds(1));
    }
  }
  // Beats for all processes that were welcomed.
  void beat(int count) {
    std::vector<ProcessIncarnation> processes;
    for (const Welcome& welcome : all<Welcome>()) processes.push_back(welcome.process);
    beat(processes, count);
  }
  void join(std::uint64_t number, ProcessRole role = ProcessRole::kNode) {
    Join join;
    join.name = (role == ProcessRole::kNode ? "node" : "storage") + std::to_string(number);
    join.nonce = number;
    join.role = role;
    hear(join);
  }
  void train() {
    for (std::uint64_t number = 1; number <= 4; ++number) join(number);
    ready();
  }
  void ready(std::uint64_t digest = 5) {
    for (const SpawnStage& order : all<SpawnStage>()) {
      hear(StageReady{order.stage, order.replica, {}, order.version, digest});
    }
  }
  Prepared vote_of(std::uint32_t stage, bool is_bad = false) {
    Prepared vote;
    vote.order = {RunId{9},
                  core.view().branch(),
                  term,
                  StageId{stage},
                  StepId{core.view().committed_steps()},
                  Epoch{core.view().members().group_of(StageId{stage}), 2}};
    vote.position = core.view().position();
    ManifestEntry entry{MicrobatchId{0}, 10, 1.0, {}};
    if (is_bad) entry.bad_tensor = "wte.weight";
    vote.manifests = {{core.view().replicas_of(StageId{stage})[0].incarnation, {entry}}};
    return vote;
  }
  void step(bool is_bad = false) {
    for (const std::uint32_t stage : {0U, 1U}) hear(vote_of(stage, is_bad));
  }
  void saved(std::uint64_t version) { hear(CheckpointSaved{core.view().branch(), version, "abc", 1, 0.1}); }
  void evaluated() { hear(EvaluationResult{{}, core.view().committed_steps(), 1, 1, 1, true}); }
  ProcessIncarnation process_of(std::uint32_t stage, std::size_t index) {
    return core.view().replicas_of(StageId{stage})[index].process;
  }
  Commit last_commit() const {
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
      if (const auto* commit = std::get_if<Commit>(&entry->body)) return *commit;
    }
    return {};
  }
  template <class Message>
  std::vector<Message> all() const {
    return bodies_of<Message>(sent);
  }
  bool has_event(RunEventKind kind) const {
    for (const RunEvent& event : all<RunEvent>()) {
      if (event.kind == kind) return true;
    }
    return false;
  }
  int exit_status() {
    later(std::chrono::seconds(10));
    return ended ? ended->exit_status : -1;
  }

  // Answers the newest look.
  bool answer_look() { return perform(core.looked({awaited.look, found_by(awaited)}, now)); }
  Result<StartPoint> found_by(const FindCheckpoint& wanted) const {
    if (is_unreadable && !wanted.passes_unreadable) return fail(Error::kIo, "I/O error");
    const auto& answer = is_unreadable ? older : checkpoint;
    return answer ? Result<StartPoint>(*answer) : fail(Error::kInvalidData, "all are damaged");
  }

  Instant now = Instant{} + std::chrono::hours(1);
  Term term;
  std::uint64_t next_number;  // blocks of earlier terms are not given again
  SupervisorCore core;
  std::vector<JournalEntry> entries;
  std::string kernels;  // that are on record
  std::vector<Letter> sent;
  std::optional<EndRun> ended;
  std::vector<std::string> told;  // to the person at the terminal
  std::vector<ProcessIncarnation> probed;
  std::vector<Incarnation> avoided;  // as the data loader was told last
  int loaders = 0;
  bool is_disk_full = false;
  std::optional<StartPoint> checkpoint = StartPoint{};  // the newest; nothing: none is good
  bool is_unreadable = false;                           // the newest, now
  std::optional<StartPoint> older{};                    // the one that is found instead
  std::optional<std::uint64_t> not_beyond;              // as given to the last look
  std::vector<Instant> looks;                           // times of all looks
  FindCheckpoint awaited;                               // the newest
  bool is_disk_slow = false;                            // looks are answered by the test
};

}  // namespace shoal
