// One reading of all pieces, whose events come in no order of time.
#include "runtime/trace/report/check/check_passing.h"

#include <algorithm>

#include "runtime/base/compose.h"
#include "runtime/trace/tracer.h"

namespace shoal {
namespace {

class Passing {
 public:
  explicit Passing(const RunTrace& frame) : frame_(frame), facts_(frame) {}

  void take(const TracedEvent& traced, std::uint64_t number) {
    const EventOrder order{traced.time_ns, number};
    switch (traced.event.kind) {
      case TraceKind::kReceive: return facts_.signs.hear(traced);
      case TraceKind::kMark: return check_mark(traced, order);
      case TraceKind::kPlan: return keep_first_plan(traced, order);
      default: return;
    }
  }
  PassingFacts finish() && { return std::move(facts_); }

 private:
  void check_mark(const TracedEvent& traced, const EventOrder& order) {
    const TraceEvent& event = traced.event;
    ++facts_.marks;
    if (event.bytes <= event.subject) return;
    facts_.beyond_bounds.push_back(
        {order,
         {Rule::kBounds, compose("'", event.detail_text(), "' of ", actor_in_words(frame_, traced), " held ",
                                 event.bytes, ", its bound is ", event.subject)}});
  }

  // The earliest step's; of several plans of it the last one.
  void keep_first_plan(const TracedEvent& traced, const EventOrder& order) {
    const std::pair step{traced.event.cause.branch, traced.event.cause.step};
    const bool is_first = !facts_.first_plan || step < first_step_;
    if (!is_first && (step != first_step_ || order < first_order_)) return;
    first_step_ = step;
    first_order_ = order;
    facts_.first_plan = traced.event.bytes;
  }

  const RunTrace& frame_;
  PassingFacts facts_;
  std::pair<Branch, StepId> first_step_;
  EventOrder first_order_;
};

}  // namespace

SignsOfLife::SignsOfLife(const RunTrace& frame) {
  for (std::uint32_t i = 0; i < frame.lives.size(); ++i) {
    for (const ProcessIncarnation process : frame.lives[i].processes) {
      if (process.value != 0) life_of_[process] = i;  // the spawner's lives share that number; no replica runs there
    }
    last_ns_.push_back(frame.lives[i].end_ns);
  }
}

void SignsOfLife::hear(const TracedEvent& letter) {
  if (letter.event.span == 0) return;
  const auto sender = life_of(process_of_span(letter.event.span));
  if (sender) last_ns_[*sender] = std::max(last_ns_[*sender], letter.time_ns);
}

std::optional<std::uint32_t> SignsOfLife::life_of(ProcessIncarnation process) const {
  const auto found = life_of_.find(process);
  return found == life_of_.end() ? std::nullopt : std::optional(found->second);
}

std::string actor_in_words(const RunTrace& frame, const TracedEvent& traced) {
  const std::string& actor = frame.actor_of(traced);
  const Incarnation incarnation = traced.event.incarnation;
  const std::string number = incarnation.value == 0 ? "" : compose(" (replica ", incarnation, ")");
  return compose(actor, number, " in ", frame.life_of(traced).name);
}

Result<PassingFacts> check_passing(const EventPieces& pieces) {
  Passing passing(pieces.frame());
  for (std::size_t piece = 0; piece < pieces.topics().size(); ++piece) {
    const auto read =
        pieces.read(piece, [&](const TracedEvent& traced, std::uint64_t number) { passing.take(traced, number); });
    if (!read) return read.failure();
  }
  return std::move(passing).finish();
}

}  // namespace shoal
