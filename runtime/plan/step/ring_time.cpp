// Parts leave in the order in which they come to a member.
#include "runtime/plan/step/ring_time.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>

#include "runtime/base/ensure.h"

namespace shoal {
namespace {

// Ready to leave at that time; buckets that are ready at once leave in their order.
struct ReadyPart {
  double at_s = 0;
  std::size_t bucket = 0;
  std::size_t hop = 0;
  friend bool operator>(const ReadyPart& a, const ReadyPart& b) {
    return std::tie(a.at_s, a.bucket, a.hop) > std::tie(b.at_s, b.bucket, b.hop);
  }
};

// A sum of more buckets is about as long in larger ones.
constexpr double kBuckets = 1024;

}  // namespace

double ring_time_s(const std::vector<StepLink>& hops, double sum_bytes, double bucket_bytes) {
  ENSURE(bucket_bytes > 0, "a bucket holds something");
  const std::size_t members = hops.size();
  if (members < 2 || !(sum_bytes > 0)) return 0;
  const double each = std::max(bucket_bytes, sum_bytes / kBuckets);
  const auto buckets = static_cast<std::size_t>(std::ceil(sum_bytes / each));
  std::priority_queue<ReadyPart, std::vector<ReadyPart>, std::greater<>> ready;
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) ready.push({0, bucket, 0});
  std::vector<double> free_s(members, 0);
  double whole_s = 0;
  while (!ready.empty()) {
    const ReadyPart part = ready.top();
    ready.pop();
    const std::size_t member = (part.bucket + part.hop) % members;
    const double bytes = std::min(each, sum_bytes - static_cast<double>(part.bucket) * each);
    free_s[member] = std::max(free_s[member], part.at_s) + 8 * bytes / hops[member].bit_s;
    const double arrives_s = free_s[member] + hops[member].latency_s;
    whole_s = std::max(whole_s, arrives_s);
    if (part.hop + 3 < 2 * members) ready.push({arrives_s, part.bucket, part.hop + 1});
  }
  return whole_s;
}

}  // namespace shoal
