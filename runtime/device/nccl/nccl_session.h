// One member's communicator, and the sum that is under way on it. Polled: no call waits for another member.
//
//   idle ──sum──▶ joining ──all are there──▶ starting ──queued──▶ summing ──the device is done──▶ idle, communicator
//   kept
//     ▲   └──────── on the kept communicator ───▲                    │
//     └──── a failure of any step, a drop, another sum: the communicator is aborted ◀┘
//
// A stage has one communicator, and one sum on it. Whoever has none of the wanted name, or one that broke, says so
// instead of making another: the group chooses. A process whose communicators never come together makes no more of them
// (given_up_joins.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/nccl/collective_memory.h"
#include "runtime/device/nccl/given_up_joins.h"
#include "runtime/device/nccl/nccl_library.h"
#include "runtime/sync/collective/collective.h"

namespace shoal {

class NcclSession {
 public:
  // joins: those of the process.
  NcclSession(std::shared_ptr<const NcclLibrary> library, std::unique_ptr<CollectiveMemory> memory,
              std::shared_ptr<GivenUpJoins> joins = std::make_shared<GivenUpJoins>());
  ~NcclSession();
  NcclSession(const NcclSession&) = delete;
  NcclSession& operator=(const NcclSession&) = delete;

  [[nodiscard]] std::vector<CollectiveNews> take(const CollectiveOrder& order);
  [[nodiscard]] std::vector<CollectiveNews> poll();
  // A sum is under way: poll() is to be called again soon.
  [[nodiscard]] bool is_busy() const { return phase_ != Phase::kIdle; }
  [[nodiscard]] bool has_communicator() const { return comm_ != nullptr; }

 private:
  enum class Phase : std::uint8_t { kIdle, kJoining, kStarting, kSumming };
  using News = std::vector<CollectiveNews>;

  void abort();
  void begin(const CollectiveSum& sum, News& news);
  void make(const CollectiveSum& sum, News& news);
  void join(const NcclId& id, News& news);
  void start(News& news);
  void queued(News& news);
  void look_at_device(News& news);
  // Returns the communicator's own word: success, in progress, an error.
  [[nodiscard]] int state() const;
  void fail_sum(std::string reason, News& news, bool is_for_good = false);
  [[nodiscard]] std::string failure(const std::string& call, int error) const;

  std::shared_ptr<const NcclLibrary> library_;
  std::unique_ptr<CollectiveMemory> memory_;
  std::shared_ptr<GivenUpJoins> joins_;
  Phase phase_ = Phase::kIdle;
  void* comm_ = nullptr;
  Epoch name_;  // of comm_
  CollectiveSum sum_;
};

}  // namespace shoal
