// Which events are told, and how.
#include "runtime/trace/report/summary/happenings.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "runtime/base/compose.h"
#include "runtime/trace/report/quantities.h"

namespace shoal {
namespace {

constexpr std::size_t kHappeningsMax = 40;

// Links that come up befall nobody.
bool is_told(const TraceEvent& event) {
  if (event.kind == TraceKind::kLink) return event.detail_text() != "up" && event.detail_text() != "lane up";
  return event.kind == TraceKind::kFault || event.kind == TraceKind::kRestart || event.kind == TraceKind::kRollBack;
}

}  // namespace

// A run leaves a branch once. A spawner that is killed before the new one has members says so, and so does the next.
void Happenings::take(const TracedEvent& traced) {
  const TraceEvent& event = traced.event;
  if (is_parting(traced)) return;
  const bool is_again = event.kind == TraceKind::kRollBack && !left_.insert(event.cause.branch).second;
  const bool is_counted = (is_told(event) && !is_again) || event.kind == TraceKind::kDrop;
  if (is_counted) ++counts_[std::string(shoal::text_of(event.kind))];
  if (!is_told(event)) return;
  ++line_count_;
  if (lines_.size() == kHappeningsMax) return;
  lines_.push_back(compose("  ", seconds_text(traced.time_ns), "  ", frame_.life_of(traced).name, ", ",
                           frame_.actor_of(traced), ": ", shoal::text_of(event.kind), ", ", event.detail_text(),
                           is_again ? ", begun again" : "", "\n"));
}

std::string Happenings::text() const {
  std::string text;
  for (const auto& [word, count] : counts_) text += compose(text.empty() ? "  " : ", ", word, " ", count);
  text += text.empty() ? "  nothing\n" : "\n";
  for (const std::string& line : lines_) text += line;
  if (line_count_ > lines_.size()) text += compose("  ... and ", line_count_ - lines_.size(), " more\n");
  return text;
}

// A process that ends in order closes its links, and its peers see that: nothing was lost.
bool Happenings::is_parting(const TracedEvent& traced) const {
  static constexpr std::string_view kWords[] = {"lost: closed", "lost: the peer closed it", "lost: the peer has left"};
  if (traced.event.kind != TraceKind::kLink) return false;
  const std::string_view told = traced.event.detail_text();
  const bool is_said = std::ranges::any_of(kWords, [&](std::string_view words) { return told.starts_with(words); });
  if (!is_said) return false;
  for (std::size_t i = 0; i < frame_.lives.size(); ++i) {
    const bool is_near = std::abs(traced.time_ns - frame_.lives[i].end_ns) <= kPartingNs;
    if (is_orderly(ends_[i]) && is_near) return true;
  }
  return false;
}

}  // namespace shoal
