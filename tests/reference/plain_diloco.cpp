// Loops over names and elements; nothing clever.
#include "tests/reference/plain_diloco.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace shoal::plain {
namespace {

Tensors zeros_like(const Tensors& tensors) {
  Tensors zeros = tensors;
  for (auto& [name, values] : zeros) std::fill(values.begin(), values.end(), 0.0);
  return zeros;
}

void add_scaled(Tensors& to, const Tensors& what, double factor) {
  for (const auto& [name, values] : what) {
    auto& sums = to[name];
    sums.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) sums[i] += factor * values[i];
  }
}

double norm_of(const Tensors& tensors) {
  double squares = 0;
  for (const auto& [name, values] : tensors) {
    for (const double value : values) squares += value * value;
  }
  return std::sqrt(squares);
}

}  // namespace

Diloco::Diloco(Recipe recipe, const Tensors& initial, GradientOf gradient_of)
    : outer(initial), buffer(zeros_like(initial)), recipe_(std::move(recipe)), gradient_of_(std::move(gradient_of)) {
  Worker worker;
  worker.local = worker.start = worker.own_outer = worker.merged = initial;
  worker.exp_avg = worker.exp_avg_sq = worker.own_buffer = zeros_like(initial);
  workers.assign(static_cast<std::size_t>(recipe_.workers), worker);
}

void Diloco::step() {
  for (std::size_t index = 0; index < workers.size(); ++index) train(workers[index], static_cast<int>(index));
  version_ += 1;
  const int fragments = static_cast<int>(recipe_.first_steps.size());
  std::map<int, Round> before;
  for (int fragment = 0; fragment < fragments; ++fragment) {
    const int since = version_ - recipe_.first_steps[static_cast<std::size_t>(fragment)];
    if (since < 0 || since % recipe_.period != 0) continue;
    if (newest_.count(fragment) > 0) before[fragment] = newest_[fragment];
    newest_[fragment] = contribute(fragment, since / recipe_.period + 1);
    const Round* last = before.count(fragment) > 0 ? &before[fragment] : nullptr;
    if (recipe_.update == Update::kDelayed) {
      if (last != nullptr) agree(*last);
      merge(fragment);
    } else if (recipe_.update != Update::kWait) {
      if (last != nullptr) agree(*last);
      apply_eager(newest_[fragment], last);
      merge(fragment);
    }
  }
  if (recipe_.update != Update::kWait) return;
  for (int fragment = 0; fragment < fragments; ++fragment) {
    const int since = version_ - recipe_.overlap - recipe_.first_steps[static_cast<std::size_t>(fragment)];
    if (since < 0 || since % recipe_.period != 0) continue;
    agree(newest_.at(fragment));
    merge(fragment);
    if (recipe_.averages_averages) average_averages(fragment, newest_.at(fragment));
  }
}

void Diloco::train(Worker& worker, int index) {
  Tensors gradient = zeros_like(worker.local);
  double tokens = 0;
  for (int microbatch = index; microbatch < recipe_.microbatches; microbatch += recipe_.workers) {
    const Gradient one = gradient_of_(worker.local, version_, microbatch);
    add_scaled(gradient, one.sums, 1);
    tokens += one.tokens;
  }
  for (auto& [name, values] : gradient) {
    for (double& value : values) value /= tokens;
  }
  if (recipe_.clip_norm > 0) clip(gradient);
  update(worker, gradient);
  for (std::size_t fragment = 0; fragment < recipe_.first_steps.size(); ++fragment) {
    worker.tokens[static_cast<int>(fragment)] += tokens;
  }
}

void Diloco::clip(Tensors& gradient) const {
  std::map<int, Tensors> parts;
  for (const auto& [name, values] : gradient) parts[recipe_.stage_of(name)][name] = values;
  for (const auto& [stage, part] : parts) {
    const double scale = std::min(1.0, recipe_.clip_norm / (norm_of(part) + 1e-6));
    for (const auto& [name, values] : part) {
      for (double& value : gradient[name]) value *= scale;
    }
  }
}

void Diloco::update(Worker& worker, const Tensors& gradient) {
  const double rate = recipe_.learning_rate(version_);
  for (const auto& [name, g] : gradient) {
    auto& weights = worker.local[name];
    auto& m = worker.exp_avg[name];
    auto& v = worker.exp_avg_sq[name];
    const int t = ++worker.updates[name];
    const double decay = recipe_.decays(name) ? recipe_.weight_decay : 0;
    const double correction1 = 1 - std::pow(recipe_.beta1, t);
    const double correction2 = 1 - std::pow(recipe_.beta2, t);
    for (std::size_t i = 0; i < g.size(); ++i) {
      weights[i] -= rate * decay * weights[i];
      if (!recipe_.uses_adamw) {
        weights[i] -= rate * g[i];
        continue;
      }
      m[i] = recipe_.beta1 * m[i] + (1 - recipe_.beta1) * g[i];
      v[i] = recipe_.beta2 * v[i] + (1 - recipe_.beta2) * g[i] * g[i];
      weights[i] -= rate * (m[i] / correction1) / (std::sqrt(v[i] / correction2) + recipe_.eps);
    }
  }
}

Diloco::Round Diloco::contribute(int fragment, int number) {
  Round round;
  round.number = number;
  for (Worker& worker : workers) {
    const bool is_eager = recipe_.update == Update::kAgreed || recipe_.update == Update::kPaper;
    const bool is_mistaken = recipe_.mistake == Mistake::kBaseFromMergedLocal;
    const Tensors& base = is_mistaken ? worker.merged : is_eager ? worker.start : outer;
    const double sign = recipe_.mistake == Mistake::kFlippedDelta ? -1 : 1;
    Tensors delta;
    for (const auto& [name, values] : worker.local) {
      if (!is_of(fragment, name)) continue;
      for (std::size_t i = 0; i < values.size(); ++i) delta[name].push_back(sign * (base.at(name)[i] - values[i]));
    }
    round.deltas.push_back(std::move(delta));
    round.weights.push_back(worker.tokens[fragment]);
    worker.tokens[fragment] = 0;
  }
  return round;
}

Tensors Diloco::mean_of(const Round& round) const {
  Tensors sum;
  double weight = 0;
  for (std::size_t index = 0; index < round.deltas.size(); ++index) {
    add_scaled(sum, round.deltas[index], round.weights[index]);
    weight += round.weights[index];
  }
  if (recipe_.mistake == Mistake::kDivisorOffByOne) weight *= 1 + 1.0 / static_cast<double>(workers.size());
  for (auto& [name, values] : sum) {
    for (double& value : values) value /= weight;
  }
  return sum;
}

void Diloco::outer_step(Tensors& parameters, Tensors& momentum, const Tensors& gradient, int number) const {
  const double mu = recipe_.outer_momentum;
  for (const auto& [name, g] : gradient) {
    auto& x = parameters[name];
    auto& b = momentum[name];
    for (std::size_t i = 0; i < g.size(); ++i) {
      if (number <= recipe_.plain_rounds) {
        x[i] -= g[i];
        continue;
      }
      b[i] = mu * b[i] + g[i];
      x[i] -= recipe_.outer_lr * (recipe_.mistake == Mistake::kHeavyBall ? b[i] : g[i] + mu * b[i]);
    }
  }
}

void Diloco::agree(const Round& round) {
  const Tensors mean = mean_of(round);
  if (recipe_.mistake == Mistake::kSharedMomentum) {
    for (auto& [name, values] : buffer) {
      if (mean.count(name) > 0) continue;
      for (double& value : values) value *= recipe_.outer_momentum;
    }
  }
  outer_step(outer, buffer, mean, round.number);
}

Tensors Diloco::eager_gradient(std::size_t index, const Round& newest, const Round* before) const {
  Tensors gradient;
  add_scaled(gradient, newest.deltas[index], newest.weights[index]);
  double weight = newest.weights[index];
  for (std::size_t other = 0; other < workers.size(); ++other) {
    if (other == index) continue;
    if (before != nullptr) add_scaled(gradient, before->deltas[other], before->weights[other]);
    weight += before != nullptr ? before->weights[other] : newest.weights[other];
  }
  for (auto& [name, values] : gradient) {
    for (double& value : values) value /= weight;
  }
  return gradient;
}

void Diloco::apply_eager(const Round& newest, const Round* before) {
  for (std::size_t index = 0; index < workers.size(); ++index) {
    Worker& worker = workers[index];
    const Tensors gradient = eager_gradient(index, newest, before);
    if (recipe_.update == Update::kPaper) {
      outer_step(worker.own_outer, worker.own_buffer, gradient, newest.number);
      for (const auto& [name, values] : gradient) worker.start[name] = worker.own_outer[name];
      continue;
    }
    Tensors ahead = outer;
    Tensors momentum = buffer;
    outer_step(ahead, momentum, gradient, newest.number);
    for (const auto& [name, values] : gradient) worker.start[name] = ahead[name];
  }
}

void Diloco::merge(int fragment) {
  const bool is_eager = recipe_.update == Update::kAgreed || recipe_.update == Update::kPaper;
  for (Worker& worker : workers) {
    for (auto& [name, values] : worker.local) {
      if (!is_of(fragment, name)) continue;
      const auto& agreed = is_eager ? worker.start[name] : outer[name];
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = recipe_.mix * values[i] + (1 - recipe_.mix) * agreed[i];
      }
      worker.merged[name] = values;
      if (!recipe_.resets_averages && recipe_.mistake != Mistake::kAdamReset) continue;
      std::fill(worker.exp_avg[name].begin(), worker.exp_avg[name].end(), 0.0);
      std::fill(worker.exp_avg_sq[name].begin(), worker.exp_avg_sq[name].end(), 0.0);
      worker.updates[name] = 0;
    }
  }
}

void Diloco::average_averages(int fragment, const Round& round) {
  for (Tensors Worker::*part : {&Worker::exp_avg, &Worker::exp_avg_sq}) {
    Tensors sum = zeros_like(workers[0].*part);
    double weight = 0;
    for (std::size_t index = 0; index < workers.size(); ++index) {
      add_scaled(sum, workers[index].*part, round.weights[index]);
      weight += round.weights[index];
    }
    for (auto& [name, values] : sum) {
      for (double& value : values) value /= weight;
      for (Worker& worker : workers) {
        if (is_of(fragment, name)) (worker.*part)[name] = values;
      }
    }
  }
}

double relative_distance(const Tensors& a, const Tensors& b) {
  Tensors difference = b;
  add_scaled(difference, a, -1);
  return norm_of(difference) / norm_of(b);
}

}  // namespace shoal::plain
