// Values that a member hands to the library that sums on its device, and hears of it.
//
//   CollectiveSum ──▶ (a communicator is made, or was kept) ──▶ CollectiveSummed        the communicator is kept
//       │                                      └─ any failure ──▶ CollectiveFailed      it is given up
//       └─ the first member of a new one ──▶ CollectiveIdMade, whose id all others need
//   CollectiveDrop ──▶ nothing more of the sum is heard; its communicator is given up
//
// Communicators are named by the epoch of the order that they were made for: there is one such order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "messages/sync.h"
#include "messages/tensor_blob.h"

namespace shoal {

inline constexpr std::size_t kCollectiveIdBytes = 128;

struct CollectiveSum {
  OrderId order;
  Epoch communicator;      // order.epoch: it is to be made
  std::uint32_t rank = 0;  // this member's place among `size`
  std::uint32_t size = 0;
  std::string id;  // of one to be made, kCollectiveIdBytes long; none: this member makes it
  TensorBlob contribution;

  [[nodiscard]] bool makes_communicator() const { return communicator == order.epoch; }
};

struct CollectiveDrop {};

using CollectiveOrder = std::variant<CollectiveSum, CollectiveDrop>;

struct CollectiveIdMade {
  OrderId order;
  std::string id;
};
struct CollectiveSummed {
  OrderId order;
  TensorBlob sum;
};
struct CollectiveFailed {
  OrderId order;
  std::string reason;
  bool is_for_good = false;  // this process makes no communicator any more
};

using CollectiveNews = std::variant<CollectiveIdMade, CollectiveSummed, CollectiveFailed>;

// News as a local message holds it.
struct CollectiveEvent {
  CollectiveNews news;
};

// Any thread may call it, also when whom it is for is no more.
using TellCollective = std::function<void(CollectiveNews)>;

class CollectiveRunner {
 public:
  CollectiveRunner() = default;
  CollectiveRunner(const CollectiveRunner&) = delete;
  CollectiveRunner& operator=(const CollectiveRunner&) = delete;
  virtual ~CollectiveRunner() = default;

  // Returns at once. A sum that is under way is dropped.
  virtual void hand_in(CollectiveOrder order) = 0;
};

using MakeCollectiveRunner = std::function<std::unique_ptr<CollectiveRunner>(TellCollective)>;

}  // namespace shoal
