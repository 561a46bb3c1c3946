// The oracle of sync.requeue_lost: what the fakes were given against what a model with all the memory in the world
// reads out of the journal's manifests.
#include "runtime/journal/round_plan.h"
#include "runtime/journal/view.h"
#include "tests/support/requeue_model.h"
#include "tests/support/simulation/verdict.h"

namespace shoal {
namespace {

void check_samples(const SimulatedSwarm& swarm, const Commit& commit, const std::vector<std::uint64_t>& plan,
                   std::vector<std::string>& found) {
  const std::uint64_t microbatches = swarm.shape().microbatches;
  for (const MemberManifest& manifest : commit.stages.front().manifests) {
    for (const ManifestEntry& entry : manifest.entries) {
      const auto [step, microbatch] = swarm.record().samples->at({manifest.member, commit.step, entry.microbatch});
      const std::uint64_t sample = step.value * microbatches + microbatch.value;
      if (sample == plan.at(entry.microbatch.value)) continue;
      found.push_back(compose("step ", commit.step, ", microbatch ", entry.microbatch, " was trained on sample ",
                              sample, ", not on ", plan.at(entry.microbatch.value)));
    }
  }
}

// Checks that the entry names what is to be trained again.
void check_named(const CommitRound& round, std::size_t newly_lost, bool requeues, std::vector<std::string>& found) {
  if (round.lost.size() == (requeues ? newly_lost : 0)) return;
  found.push_back(compose("round ", round.round.number, " of fragment ", round.round.fragment, " of stage ",
                          round.stage, " names ", round.lost.size(), " lost microbatches, not ", newly_lost));
}

}  // namespace

std::vector<std::string> sample_violations(const SimulatedSwarm& swarm, bool requeues) {
  std::vector<std::string> found;
  const RoundSchedule schedule(swarm.shape().sync);
  RequeueModel model(swarm.shape().microbatches, [&schedule](const RoundId& round) {
    return round.number == 1 ? 0 : schedule.contribution_version({round.fragment, round.number - 1});
  });
  for (const JournalEntry& entry : swarm.journal()) {
    if (const auto* commit = std::get_if<Commit>(&entry.body)) {
      std::vector<std::uint64_t> plan = model.plan().at(commit->step.value);
      const std::uint64_t first = commit->step.value * plan.size();
      for (std::size_t index = 0; !requeues && index < plan.size(); ++index) plan[index] = first + index;
      check_samples(swarm, *commit, plan, found);
    }
    const std::size_t lost_before = model.requeued().size();
    model.follow(entry);
    const auto* round = std::get_if<CommitRound>(&entry.body);
    if (round != nullptr) check_named(*round, model.requeued().size() - lost_before, requeues, found);
  }
  found.insert(found.end(), model.violations().begin(), model.violations().end());
  return found;
}

}  // namespace shoal
