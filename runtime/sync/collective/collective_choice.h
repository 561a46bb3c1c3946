// How a group chooses what a step's sum is made by: the ring, or the library of collectives on its members' devices
// (P-18b). By manifests alone: they say of each member, in the order's own epoch, what it could do.
//
// A kept communicator is taken where all members of the sum hold it and it has no others; otherwise a new one is made,
// named by the order's epoch. After a sum by a communicator that came to nothing the next sums go over the ring: one,
// then two, up to kRingSumsMax, so that a library that does not work costs a run little. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "messages/ids.h"
#include "messages/values/collective_offer.h"

namespace shoal {

inline constexpr std::uint32_t kRingSumsMax = 64;

struct SumChoice {
  std::optional<Epoch> communicator;  // none: the ring
  std::string reason;                 // for people; none where no member offers anything
};

// By member of the sum, as their manifests have it; none: it sums by its connections alone.
using CollectiveOffers = std::map<Incarnation, std::optional<CollectiveOffer>>;

class CollectiveChoice {
 public:
  [[nodiscard]] SumChoice choose(const Epoch& order, const CollectiveOffers& offers);
  // How the sum ended that was chosen for last; one over the ring changes nothing.
  void came_to_nothing();
  void came_whole();
  // Says whether the last choice was a communicator.
  [[nodiscard]] bool is_collective() const { return is_collective_; }

 private:
  [[nodiscard]] SumChoice weigh(const Epoch& order, const CollectiveOffers& offers);

  bool is_collective_ = false;
  std::uint32_t pause_ = 0;      // sums that the last failure gave to the ring
  std::uint32_t ring_sums_ = 0;  // of them still to come
};

}  // namespace shoal
