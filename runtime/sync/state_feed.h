// Feeds joiners of a donor's stage: an image once, then the sum of every later step (P-26, P-26a).
//
//   FetchState with names ──▶ image, fed from that version on      FetchState without names: "I hold version n"
//   ends: the joiner is added or removed, or it holds so few of the sums sent that more would only pile up. While the
//   image itself is on its way it only gets no more of them: a second image would come no sooner than the first. Unless
//   the first is older than the state that is asked for: then it is of no use, and the second goes out at once.
//
// Bounded (S-6): kFeedsMax joiners; per joiner one image on its way, and sums it has not said to hold of at most
// kUnheldBytesMax (two in any case) and kUnheldStepsMax. Pure: time comes in.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "messages/storage.h"
#include "runtime/base/bound.h"
#include "runtime/base/time/progress_watch.h"

namespace shoal {

class StateFeeds {
 public:
  static inline const Bound kFeedsMax{"sync.joiners_fed", 4};
  static inline const Bound kUnheldBytesMax{"sync.unheld_bytes", std::uint64_t{256} << 20};
  static inline const Bound kUnheldStepsMax{"sync.unheld_steps", 256};
  // An image of which nothing more arrives counts as lost after this, doubled with each repeat.
  static constexpr Duration kImageLost = std::chrono::seconds(30);
  static constexpr Duration kGone = std::chrono::minutes(2);  // a joiner that is silent for so long

  enum class Answer : std::uint8_t { kNothing, kImage, kRefuse };
  // `version`: of this replica now. kImage: the feed begins at it.
  [[nodiscard]] Answer hear(const FetchState& ask, std::uint64_t version, Instant now);

  // So many bytes of its image have arrived at a joiner.
  void arriving(Incarnation joiner, std::uint64_t bytes, Instant now);

  struct Portions {
    std::vector<Incarnation> fed;  // gets the sum
    std::vector<Incarnation> cut;  // gets no more: it must copy again
  };
  // A step is committed whose sum has so many bytes; `version` counts it.
  [[nodiscard]] Portions feed(std::uint64_t version, std::size_t bytes);
  // Ends the feeds of joiners that are gone: each would get the sum of every step.
  void drop_silent(Instant now) {
    std::erase_if(feeds_, [now](const auto& feed) { return now - feed.second.heard_at >= kGone; });
  }
  // Ends the feed of a joiner that is a member now, or gone.
  void end(Incarnation joiner) { feeds_.erase(joiner); }
  [[nodiscard]] bool is_empty() const { return feeds_.empty(); }

 private:
  struct Feed {
    std::uint64_t sent = 0;  // version it will have with all that was sent
    std::uint64_t held = 0;  // version it said to hold, or the image's
    bool has_answered = false;
    bool is_cut = false;  // gets no more sums, and is told when its image is there
    GivenOnce image;
    Instant heard_at;
  };

  [[nodiscard]] bool make_room(Incarnation joiner, Instant now);

  std::map<Incarnation, Feed> feeds_;
};

}  // namespace shoal
