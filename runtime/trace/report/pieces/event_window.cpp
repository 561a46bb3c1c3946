// Reads on with fewer ranks whenever the bound is reached.
#include "runtime/trace/report/pieces/event_window.h"

#include <algorithm>
#include <utility>

namespace shoal {
namespace {

constexpr std::uint64_t kSpanMost = std::uint64_t{1} << 62U;

constexpr std::uint64_t kMicrobatchesOfAnEvent = 4;  // take as much memory, in the sets of a TracedShare

}  // namespace

std::size_t weight_of(const TraceEvent& event) {
  if (event.kind != TraceKind::kManifest) return 1;
  return 1 + std::min<std::uint64_t>(event.bytes, kManifestBits) / kMicrobatchesOfAnEvent;
}

EventWindow::EventWindow(const WindowedTrace& trace) : pieces_(trace.pieces), events_max_(trace.events_max) {
  trace_.lives = pieces_.frame().lives;
  trace_.actors = pieces_.frame().actors;
}

// Tries twice as many ranks as the one before took: where that is too much, narrow() finds what fits.
Status EventWindow::load(const WindowQuery& query) {
  trace_.events.clear();
  numbers_.clear();
  ranks_.clear();
  load_ = 0;
  begin_ = query.begin;
  end_ = query.end - query.begin < span_ ? query.end : query.begin + span_;
  for (std::size_t piece = 0; piece < pieces_.topics().size(); ++piece) {
    if (!query.may_have(pieces_.topics()[piece], begin_, end_)) continue;
    const auto read = pieces_.read(piece, [&](const TracedEvent& traced, std::uint64_t number) {
      const auto rank = query.rank(traced);
      if (!rank || *rank < begin_ || *rank >= end_) return;
      trace_.events.push_back(traced);
      numbers_.push_back(number);
      ranks_.push_back(*rank);
      load_ += weight_of(traced.event);
      if (load_ > events_max_) narrow();
    });
    if (!read) return read.failure();
  }
  const std::uint64_t taken = end_ - begin_;
  span_ = taken <= kSpanMost / 2 ? 2 * taken : kSpanMost;
  most_events_ = std::max(most_events_, trace_.events.size());
  sort();
  return Done{};
}

// Gives up the upper half of the events, or, where one rank has more than half of them, all others.
void EventWindow::narrow() {
  if (end_ - begin_ == 1) return;
  std::vector<std::uint64_t> ranks = ranks_;
  const auto middle = ranks.begin() + static_cast<std::ptrdiff_t>(ranks.size() / 2);
  std::ranges::nth_element(ranks, middle);
  most_events_ = std::max(most_events_, trace_.events.size());
  end_ = std::max(*middle, begin_ + 1);
  std::size_t kept = 0;
  load_ = 0;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (ranks_[i] >= end_) continue;
    load_ += weight_of(trace_.events[i].event);
    trace_.events[kept] = trace_.events[i];
    numbers_[kept] = numbers_[i];
    ranks_[kept++] = ranks_[i];
  }
  trace_.events.resize(kept);
  numbers_.resize(kept);
  ranks_.resize(kept);
}

// Events came in the order of their numbers.
void EventWindow::sort() {
  std::vector<std::size_t> order(trace_.events.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return trace_.events[i].time_ns; });
  std::vector<TracedEvent> events;
  std::vector<std::uint64_t> numbers;
  events.reserve(order.size());
  numbers.reserve(order.size());
  for (const std::size_t i : order) {
    events.push_back(trace_.events[i]);
    numbers.push_back(numbers_[i]);
  }
  trace_.events = std::move(events);
  numbers_ = std::move(numbers);
  ranks_.clear();
}

Status walk_windows(const WindowedTrace& trace, WindowQuery query,
                    const std::function<Status(const EventWindow& window)>& take, std::size_t& most_events) {
  EventWindow window(trace);
  for (; query.begin < query.end; query.begin = window.end()) {
    if (auto loaded = window.load(query); !loaded) return loaded;
    if (auto taken = take(window); !taken) return taken;
  }
  most_events = std::max(most_events, window.most_events());
  return Done{};
}

}  // namespace shoal
