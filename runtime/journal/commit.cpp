// The commit rule and the arithmetic of a commit. Pure.
#include "runtime/journal/commit.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/journal/learning_rate.h"

namespace shoal {

namespace {

[[nodiscard]] std::optional<SkipStep> reason_to_skip(const StepSums& sums, double gradient_norm) {
  std::optional<SkipStep> skip;
  const auto consider = [&](MicrobatchId microbatch, const std::string& what) {
    if (!skip || std::tie(microbatch, what) < std::tie(skip->microbatch, skip->tensor)) skip = {what, microbatch};
  };
  for (const ManifestEntry& entry : sums.entries) {
    if (entry.bad_tensor) consider(entry.microbatch, *entry.bad_tensor);
  }
  for (const ManifestEntry& entry : sums.loss_entries) {
    if (!std::isfinite(entry.loss_sum)) consider(entry.microbatch, "loss");
  }
  if (skip) return skip;
  for (const TensorNorm& norm : sums.norms) {
    if (!std::isfinite(norm.squared_norm)) return SkipStep{norm.name, MicrobatchId{}};
  }
  if (!std::isfinite(gradient_norm)) return SkipStep{"gradient norm", MicrobatchId{}};
  return std::nullopt;
}

void sort_by_name(std::vector<TensorNorm>& norms) {
  std::sort(norms.begin(), norms.end(), [](const TensorNorm& a, const TensorNorm& b) { return a.name < b.name; });
}

}  // namespace

double clip_scale_of(double clip_norm, double gradient_norm) {
  return clip_norm > 0 ? std::min(1.0, clip_norm / (gradient_norm + 1e-6)) : 1;
}

double gradient_norm_of(std::vector<TensorNorm> norms) {
  sort_by_name(norms);
  double squared_sum = 0;
  for (const TensorNorm& norm : norms) squared_sum += norm.squared_norm;
  return std::sqrt(squared_sum);
}

Commit conclude_step(StepSums sums, const CommitPolicy& policy) {
  sort_by_name(sums.norms);
  std::sort(sums.loss_entries.begin(), sums.loss_entries.end(),
            [](const ManifestEntry& a, const ManifestEntry& b) { return a.microbatch < b.microbatch; });
  Commit commit;
  commit.step = sums.step;
  commit.gradient_norm = gradient_norm_of(sums.norms);
  for (const ManifestEntry& entry : sums.loss_entries) {
    commit.loss_sum += entry.loss_sum;
    commit.token_count += entry.token_count;
  }
  commit.learning_rate = learning_rate(policy.optim, sums.step.value);
  commit.clip_scale = clip_scale_of(policy.optim.clip_norm, commit.gradient_norm);
  commit.skip = reason_to_skip(sums, commit.gradient_norm);
  if (commit.skip) commit.clip_scale = 1;
  commit.optimizer_step = sums.optimizer_step_before + (commit.skip ? 0 : 1);
  commit.norms = std::move(sums.norms);
  return commit;
}

std::optional<std::string> why_void(const Prepared& vote, const View& view) {
  const OrderId& order = vote.order;
  if (order.branch != view.branch()) return compose("it is of branch ", order.branch);
  const bool is_round = order.round.number != 0;
  if (!is_round && order.step.value != view.committed_steps()) return compose("it is for step ", order.step);
  if (is_round && order.step.value > view.committed_steps())
    return compose("its contributions are of step ", order.step);
  if (order.epoch.group != view.members().group_of(order.stage)) {
    return compose("group ", view.members().group_of(order.stage), " was appointed after ", order.epoch.group);
  }
  if (vote.position < view.members().last_change_of(order.stage)) {
    return compose("the stage changed at position ", view.members().last_change_of(order.stage), ", after ",
                   vote.position);
  }
  return std::nullopt;
}

}  // namespace shoal
