// The giver's side of images that travel in pieces (P-26b): which ones this replica gives away, and how far each of
// them has come.
//
// An image is asked for by its taker and version until all of it has come, and dropped when it was not asked for, and
// nothing that its taker is given has arrived, during kSilence. Bounded (S-6): kImagesMax, which are as many as
// joiners that are fed and checkpoints that are unsaved at a time; the oldest goes first, and a question for one that
// is gone is refused. Images of one version share their bytes (ImageSource). Pure: time comes in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "messages/ids.h"
#include "runtime/base/bound.h"
#include "runtime/base/clock.h"
#include "runtime/pipeline/replica/replica_facts.h"
#include "runtime/storage/image/image_source.h"

namespace shoal {

class GivenPieces {
 public:
  static inline const Bound kImagesMax{"pipeline.images_in_pieces", 8};
  static constexpr Duration kSilence = std::chrono::minutes(4);

  struct Image {
    Incarnation taker;  // 0: storage
    HeldState state;    // of which it is
    std::shared_ptr<ImageSource> source;
    std::uint64_t held = 0;  // bytes that the taker has
    Instant heard_at{};      // when its taker asked for a piece, or was seen to get something
    [[nodiscard]] bool is_of(Incarnation other, std::uint64_t version) const {
      return taker == other && state.version == version;
    }
  };

  // Its first piece was given.
  void begin(Image image, Instant now) {
    end(image.taker, image.state.version);
    if (kImagesMax.is_reached_by(images_.size())) images_.erase(images_.begin());
    image.heard_at = now;
    images_.push_back(std::move(image));
  }
  // The image that the taker asks a piece of; none: it is not given any more.
  [[nodiscard]] Image* find(Incarnation taker, std::uint64_t version) {
    const auto found = std::ranges::find_if(images_, [&](const Image& image) { return image.is_of(taker, version); });
    return found == images_.end() ? nullptr : &*found;
  }
  [[nodiscard]] bool has(Incarnation taker) const {
    return std::ranges::any_of(images_, [taker](const Image& image) { return image.taker == taker; });
  }
  // Its taker holds it up to there, and asks for more. Returns whether the piece at `offset` is to be given: it is not
  // where the question is older than another one, or all has come.
  [[nodiscard]] static bool is_due(Image& image, std::uint64_t offset, std::uint64_t held, Instant now) {
    const std::uint64_t total = image.source->byte_count();
    image.heard_at = now;
    image.held = std::max(image.held, std::min(held, total));
    image.source->release(image.held);
    return offset >= image.held && offset < total;
  }
  // More of an image has arrived at the taker, which asks for nothing while a piece is on a slow way. What else it is
  // given comes behind that.
  void arriving(Incarnation taker, Instant now) {
    for (Image& image : images_) {
      if (image.taker == taker) image.heard_at = now;
    }
  }
  void end(Incarnation taker, std::uint64_t version) {
    std::erase_if(images_, [&](const Image& image) { return image.is_of(taker, version); });
  }
  // The taker needs none of them.
  void end(Incarnation taker) {
    std::erase_if(images_, [taker](const Image& image) { return image.taker == taker; });
  }
  void drop_silent(Instant now) {
    std::erase_if(images_, [now](const Image& image) { return now - image.heard_at >= kSilence; });
  }
  [[nodiscard]] std::size_t size() const { return images_.size(); }

 private:
  std::vector<Image> images_;  // in the order in which they were begun
};

}  // namespace shoal
