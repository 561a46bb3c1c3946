// The DiLoCo family a second time, to compare with: plain loops in double over named tensors, M workers in one place.
//
// It shares nothing with the implementation but the model's gradients, which the caller gives: its own AdamW, clipping,
// averages, outer steps, fragments and calendar, written as DESIGN.md §6 has them. A Mistake makes it wrong in one
// place: each must be told apart from the implementation.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace shoal::plain {

using Tensors = std::map<std::string, std::vector<double>>;

// Gradient of the sum of the loss over a microbatch's tokens.
struct Gradient {
  Tensors sums;
  double tokens = 0;
};
using GradientOf = std::function<Gradient(const Tensors& weights, int step, int microbatch)>;

enum class Update { kWait, kDelayed, kAgreed, kPaper };
enum class Mistake {
  kNone,
  kFlippedDelta,
  kHeavyBall,
  kDivisorOffByOne,
  kSharedMomentum,       // a round of one fragment moves the momentum of all
  kAdamReset,            // the inner averages start anew with each round
  kBaseFromMergedLocal,  // the delta is measured from what the local parameters became, not from what was agreed
};

struct Recipe {
  int workers = 1;
  int microbatches = 1;  // those of a step; microbatch i is computed by worker i mod workers
  int period = 1;        // H
  int overlap = 0;
  double outer_lr = 0.7, outer_momentum = 0.9, mix = 0;
  int plain_rounds = 0;  // rounds that are averaged plainly
  Update update = Update::kWait;
  Mistake mistake = Mistake::kNone;
  bool resets_averages = false;
  bool averages_averages = false;
  std::vector<int> first_steps = {1};                       // by fragment: versions at which it contributes first
  std::function<int(const std::string& name)> fragment_of;  // per tensor
  std::function<int(const std::string& name)> stage_of;     // per tensor: a worker's part there is clipped by itself

  bool uses_adamw = true;
  std::function<double(int step)> learning_rate;
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0;  // matrices only decay
  std::function<bool(const std::string& name)> decays;
  double clip_norm = 0;  // 0: off
};

struct Worker {
  Tensors local, exp_avg, exp_avg_sq;
  std::map<std::string, int> updates;  // since the averages were empty
  Tensors start;                       // eager: what it began its round with
  Tensors own_outer, own_buffer;       // paper
  Tensors merged;                      // the mistaken base
  std::map<int, double> tokens;        // by fragment, since its last contribution
};

class Diloco {
 public:
  Diloco(Recipe recipe, const Tensors& initial, GradientOf gradient_of);

  // One inner step of every worker, then what the calendar has at this version.
  void step();

  Tensors outer, buffer;
  std::vector<Worker> workers;

 private:
  // Contributions of all workers to one round of a fragment.
  struct Round {
    int number = 0;
    std::vector<Tensors> deltas;
    std::vector<double> weights;
  };

  void train(Worker& worker, int index);
  void clip(Tensors& gradient) const;
  void update(Worker& worker, const Tensors& gradient);
  [[nodiscard]] Round contribute(int fragment, int number);
  [[nodiscard]] Tensors mean_of(const Round& round) const;
  // One outer step of round `number` on the tensors that `gradient` has.
  void outer_step(Tensors& parameters, Tensors& momentum, const Tensors& gradient, int number) const;
  void agree(const Round& round);
  // The newest delta of worker `index` with the others' of the round before.
  [[nodiscard]] Tensors eager_gradient(std::size_t index, const Round& newest, const Round* before) const;
  void apply_eager(const Round& newest, const Round* before);
  void merge(int fragment);
  void average_averages(int fragment, const Round& round);
  [[nodiscard]] bool is_of(int fragment, const std::string& name) const {
    return recipe_.fragment_of(name) == fragment;
  }

  Recipe recipe_;
  GradientOf gradient_of_;
  int version_ = 0;
  std::map<int, Round> newest_;  // by fragment
};

// |a - b| / |b| over the tensors of b.
[[nodiscard]] double relative_distance(const Tensors& a, const Tensors& b);

}  // namespace shoal::plain
