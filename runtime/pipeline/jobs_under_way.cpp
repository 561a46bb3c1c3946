// The device has one job after the other: the next begins when the one before it ends.
#include "runtime/pipeline/jobs_under_way.h"

#include "runtime/base/ensure.h"

namespace shoal {
namespace {

[[nodiscard]] bool may_hear(const JobsUnderWay& jobs, const HeldMessage& message) {
  const auto judge = [&jobs](const auto& one) { return jobs.may_hear<std::decay_t<decltype(one)>>(); };
  const auto* body = std::get_if<MessageBody>(&message);
  return body != nullptr ? std::visit(judge, *body) : std::visit(judge, message);
}

}  // namespace

void JobsUnderWay::begin(JobKind kind, Activity activity, Instant now) {
  ENSURE(kind == JobKind::kStreamed ? has_room() : jobs_.empty(), "a job began that does not go with those under way");
  jobs_.push_back({kind, activity, now});
}

Duration JobsUnderWay::end(Instant now) {
  ENSURE(!jobs_.empty(), "a result came without its job");
  const Duration took = now - jobs_.front().began;
  jobs_.pop_front();
  if (!jobs_.empty()) jobs_.front().began = now;
  return took;
}

std::optional<HeldMessage> HeldMessages::take(const JobsUnderWay& jobs) {
  if (held_.empty() || !may_hear(jobs, held_.front())) return std::nullopt;
  HeldMessage first = std::move(held_.front());
  held_.pop_front();
  return first;
}

}  // namespace shoal
