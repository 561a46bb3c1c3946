// The way to a machine adds up over the fastest one of each stage before; a stage's split counts it beside
// microbatches.
#include "runtime/plan/step/step_bound.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "runtime/plan/resources/step_time.h"

namespace shoal {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

double takes_s(const StepLink& link, double bytes) { return link.latency_s + 8 * bytes / link.bit_s; }

class StepBound {
 public:
  StepBound(const StepScene& scene, double now_s)
      : scene_(scene), there_s_(scene.machines.size(), kNever), stages_(scene.loads.size()) {
    for (std::size_t i = 0; i < scene.machines.size(); ++i) {
      stages_[scene.machines[i].stage].push_back(i);
      pass_s_.push_back(pass_s_at(scene.machines[i], now_s) * scene.loads[scene.machines[i].stage]);
    }
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) find_way(stage);
  }

  // Until everybody of the stage has the sum, and the spawner knows.
  [[nodiscard]] double summed_s(std::size_t stage) const {
    const auto microbatches = static_cast<std::uint64_t>(microbatches_per_step(scene_.config));
    std::vector<double> microbatch_s;
    std::vector<double> beside_s;
    double away_s = 0;
    double sum_s = 0;
    for (const std::size_t machine : stages_[stage]) {
      microbatch_s.push_back(std::max(kPassesOfTraining * pass_s_[machine], links_s(machine)));
      beside_s.push_back(there_s_[machine]);
      away_s = std::max(away_s, to_spawner(machine).latency_s);
      sum_s = std::max(sum_s, takes_s(link(machine), scene_.sum_bytes[stage]));
    }
    constexpr double kLettersOfAgreement = 3;
    return best_split(microbatch_s, beside_s, microbatches).takes_s + kLettersOfAgreement * away_s +
           (stages_[stage].size() > 1 ? sum_s : 0);
  }
  [[nodiscard]] std::size_t stages() const { return stages_.size(); }

 private:
  [[nodiscard]] const StepLink& link(std::size_t machine) const { return scene_.machines[machine].link; }
  [[nodiscard]] StepLink to_spawner(std::size_t machine) const { return link_between(link(machine), scene_.spawner); }

  void find_way(std::size_t stage) {
    for (const std::size_t machine : stages_[stage]) {
      if (stage == 0) there_s_[machine] = takes_s(to_spawner(machine), scene_.token_bytes);
      for (std::size_t i = 0; stage > 0 && i < stages_[stage - 1].size(); ++i) {
        const std::size_t before = stages_[stage - 1][i];
        const StepLink between = link_between(link(before), link(machine));
        const double activation_s = takes_s(between, static_cast<double>(scene_.borders[stage - 1].activation));
        there_s_[machine] = std::min(there_s_[machine], there_s_[before] + pass_s_[before] + activation_s);
      }
    }
  }

  // Time that the letters of one microbatch keep the machine's links busy, over as many as go to one neighbour stage.
  [[nodiscard]] double links_s(std::size_t machine) const {
    const std::size_t stage = scene_.machines[machine].stage;
    double bytes = stage == 0 ? scene_.token_bytes : 0;
    for (const std::size_t border : {stage, stage + 1}) {
      if (border == 0 || border >= stages_.size()) continue;
      const std::size_t neighbour = border == stage ? stage - 1 : stage + 1;
      const auto letters =
          static_cast<double>(std::max(scene_.borders[border - 1].activation, scene_.borders[border - 1].gradient));
      bytes = std::max(bytes, letters / static_cast<double>(stages_[neighbour].size()));
    }
    return 8 * bytes / link(machine).bit_s;
  }

  const StepScene& scene_;
  std::vector<double> there_s_;  // index = machine, as of the next: when it can have the first microbatch
  std::vector<double> pass_s_;
  std::vector<std::vector<std::size_t>> stages_;
};

}  // namespace

double step_bound_s(const StepScene& scene, double now_s) {
  const StepBound bound(scene, now_s);
  double last_s = 0;
  for (std::size_t stage = 0; stage < bound.stages(); ++stage) last_s = std::max(last_s, bound.summed_s(stage));
  return last_s;
}

}  // namespace shoal
