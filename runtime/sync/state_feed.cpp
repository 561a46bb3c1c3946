// The donor's side of a state transfer.
#include "runtime/sync/state_feed.h"

#include <algorithm>

namespace shoal {

// False: four live joiners are fed already.
bool StateFeeds::make_room(Incarnation joiner, Instant now) {
  drop_silent(now);
  return feeds_.contains(joiner) || !kFeedsMax.is_reached_by(feeds_.size());
}

StateFeeds::Answer StateFeeds::hear(const FetchState& ask, std::uint64_t version, Instant now) {
  if (!make_room(ask.replica, now)) return Answer::kRefuse;
  const auto known = feeds_.find(ask.replica);
  if (ask.names.empty()) {
    if (known == feeds_.end()) {
      if (ask.step != version) return Answer::kRefuse;
      feeds_.emplace(ask.replica, Feed{version, version, true, false, GivenOnce(kImageLost, now), now});
      return Answer::kNothing;
    }
    Feed& feed = known->second;
    if (feed.is_cut) {
      feeds_.erase(known);
      return Answer::kRefuse;
    }
    feed.held = std::max(feed.held, std::min(ask.step, feed.sent));
    feed.has_answered = true;
    feed.heard_at = now;
    return Answer::kNothing;
  }
  Feed feed{version, version, false, false, GivenOnce(kImageLost, now), now};
  const bool is_on_its_way = known != feeds_.end() && !known->second.has_answered && known->second.held >= ask.step;
  if (is_on_its_way) {
    known->second.heard_at = now;
    if (!known->second.image.is_lost(now)) return Answer::kNothing;
    feed.image = known->second.image;
    feed.image.given_again(now);
  }
  feeds_.insert_or_assign(ask.replica, feed);
  return Answer::kImage;
}

void StateFeeds::arriving(Incarnation joiner, std::uint64_t bytes, Instant now) {
  const auto known = feeds_.find(joiner);
  if (known == feeds_.end()) return;
  known->second.heard_at = now;
  known->second.image.arriving(bytes, now);
}

StateFeeds::Portions StateFeeds::feed(std::uint64_t version, std::size_t bytes) {
  Portions portions;
  for (auto& [joiner, feed] : feeds_) {
    const std::uint64_t unheld = version - feed.held;
    const bool is_too_much =
        unheld > 2 && (kUnheldStepsMax.is_exceeded_by(unheld) || kUnheldBytesMax.is_exceeded_by(unheld * bytes));
    feed.is_cut = feed.is_cut || is_too_much;
    if (feed.is_cut && !feed.has_answered) continue;
    (feed.is_cut ? portions.cut : portions.fed).push_back(joiner);
    feed.sent = version;
  }
  for (const Incarnation joiner : portions.cut) feeds_.erase(joiner);
  return portions;
}

}  // namespace shoal
