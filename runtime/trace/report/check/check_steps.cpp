// Steps in windows: nothing of one is needed for another.
#include "runtime/trace/report/check/check_steps.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "runtime/base/compose.h"
#include "runtime/trace/report/check/accumulations.h"
#include "runtime/trace/report/quantities.h"

namespace shoal {
namespace {

// Follows what each replica accumulated of each step in a window.
class AccumulationCheck {
 public:
  AccumulationCheck(const TracedMembers& members, std::vector<TimedViolation>& findings)
      : members_(members), findings_(findings) {}

  void take(const TracedEvent& traced, const EventOrder& order) {
    const TraceEvent& event = traced.event;
    if (is_zeroing(event)) found_.erase({event.cause.branch, event.cause.step, event.incarnation});
    if (event.kind == TraceKind::kAccumulate) accumulate(traced, order);
  }

 private:
  void accumulate(const TracedEvent& traced, const EventOrder& order) {
    const TraceEvent& event = traced.event;
    const Cause& cause = event.cause;
    const auto add = [&](Rule rule, const std::string& what) {
      findings_.push_back(
          {order,
           {rule, compose("step ", cause.step, " of branch ", cause.branch, ", stage ", cause.hop, ": ",
                          members_.name_of(event.incarnation), " accumulated microbatch ", cause.microbatch, what)}});
    };
    auto& step = found_[{cause.branch, cause.step, event.incarnation}];
    const auto [first, is_first] = step.try_emplace(cause.microbatch.value, traced.time_ns);
    if (!is_first) {
      add(Rule::kExactlyOnce, compose(" twice, at ", seconds_text(first->second), " and ", seconds_text(traced.time_ns),
                                      ", without a Zero between"));
    }
    const TracedEntry* added = members_.added(event.incarnation);
    if (added == nullptr) return;
    if (added->branch != cause.branch) add(Rule::kView, compose(", but it is a replica of branch ", added->branch));
    if (added->stage.value != cause.hop) add(Rule::kView, compose(", but it serves stage ", added->stage));
  }

  const TracedMembers& members_;
  std::vector<TimedViolation>& findings_;
  std::map<std::tuple<Branch, StepId, Incarnation>, std::map<std::uint32_t, std::int64_t>> found_;  // and when
};

// Returns the step, or the number of steps applied, that a replica's own record is about.
std::optional<std::uint64_t> step_about(const TracedEvent& traced) {
  const TraceEvent& event = traced.event;
  const bool is_wanted = event.kind == TraceKind::kAccumulate || event.kind == TraceKind::kDigest || is_zeroing(event);
  const Topic topic = is_wanted ? topic_of(event) : Topic{};
  return topic.kind == TopicKind::kStep ? std::optional(topic.number) : std::nullopt;
}

bool has_steps(const PieceTopics& topics, std::uint64_t begin, std::uint64_t end) {
  return topics.steps.touches(begin, end);
}

}  // namespace

Status check_steps(const WindowedTrace& trace, const TracedMembers& members, StateDigests& digests,
                   std::vector<TimedViolation>& findings, CheckMemory& memory) {
  const NumberRange steps = trace.pieces.all_topics().steps;
  const auto take = [&](const EventWindow& window) -> Status {
    AccumulationCheck accumulations(members, findings);
    digests.forget_states();
    const auto& events = window.trace().events;
    for (std::size_t i = 0; i < events.size(); ++i) {
      accumulations.take(events[i], window.order_of(i));
      digests.take_state(events[i], window.order_of(i));
    }
    return Done{};
  };
  auto walked = walk_windows(trace, {steps.least, steps.end(), step_about, has_steps}, take, memory.events);
  digests.forget_states();
  memory.states = digests.most_states();
  return walked;
}

}  // namespace shoal
