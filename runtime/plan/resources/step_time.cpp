// Splits greedily, which is best for one number per replica; adds up what does not overlap.
#include "runtime/plan/resources/step_time.h"

#include <algorithm>
#include <queue>

#include "runtime/base/ensure.h"

namespace shoal {
namespace {

// A backward is two of the three parts of a microbatch's time; its half, the weights' gradients, may wait until the
// neighbour is answered (runtime/pipeline/schedule.h).
constexpr double kOnTheWay = 2.0 / 3;

}  // namespace

MicrobatchSplit best_split(const std::vector<double>& microbatch_s, std::uint64_t microbatches) {
  return best_split(microbatch_s, std::vector<double>(microbatch_s.size(), 0), microbatches);
}

MicrobatchSplit best_split(const std::vector<double>& microbatch_s, const std::vector<double>& beside_s,
                           std::uint64_t microbatches) {
  ENSURE(!microbatch_s.empty() && microbatch_s.size() == beside_s.size(), "there is a replica");
  ENSURE(std::ranges::all_of(microbatch_s, [](double s) { return s > 0; }), "a microbatch takes time");
  MicrobatchSplit split{std::vector<std::uint64_t>(microbatch_s.size()), 0};
  using Entry = std::pair<double, std::size_t>;  // when this replica would be done with one more
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> done;
  for (std::size_t i = 0; i < microbatch_s.size(); ++i) done.emplace(beside_s[i] + microbatch_s[i], i);
  for (std::uint64_t i = 0; i < microbatches; ++i) {
    const auto [at_s, replica] = done.top();
    done.pop();
    ++split.shares[replica];
    split.takes_s = std::max(split.takes_s, at_s);
    done.emplace(at_s + microbatch_s[replica], replica);
  }
  return split;
}

StepTime step_time(const StepTiming& timing) {
  StepTime out;
  double fastest_sum_s = 0;  // of one microbatch, over all stages
  std::vector<double> fastest_s;
  for (std::size_t stage = 0; stage < timing.microbatch_s.size(); ++stage) {
    const double takes_s = best_split(timing.microbatch_s[stage], timing.microbatches).takes_s;
    if (takes_s > out.compute_s) out.compute_s = takes_s, out.slowest_stage = stage;
    fastest_s.push_back(std::ranges::min(timing.microbatch_s[stage]));
    fastest_sum_s += fastest_s.back();
  }
  out.fill_s = kOnTheWay * (fastest_sum_s - fastest_s[out.slowest_stage]);
  for (const double link_s : timing.link_s) {
    out.compute_s = std::max(out.compute_s, link_s * static_cast<double>(timing.microbatches));
    out.fill_s += link_s;
  }
  out.total_s = out.compute_s + out.fill_s + timing.reduce_s + timing.commit_s;
  return out;
}

}  // namespace shoal
