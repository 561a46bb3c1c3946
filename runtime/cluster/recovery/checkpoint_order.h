// A checkpoint as an order that is acknowledged: named in a commit, done when storage says so; asked for again when who
// was to save a shard, the shard, storage or its answer is lost.
//
//   ordered ──CheckpointSaved──▶ done
//     │ a saver or storage is lost, or there is silence for long
//     ├─ steps follow: the next commit names savers again        (kCarry)
//     └─ the last one: replicas still hold that state; they are asked for it directly, again and again, until storage
//        has it or patience is over                              (kAskAgain, kGiveUp)
//
// Without storage nothing is asked of anybody until it is back. Pure: time comes in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "messages/ids.h"
#include "runtime/base/clock.h"

namespace shoal {

struct CheckpointPatience {
  Duration without_storage = std::chrono::minutes(2);
  Duration in_all = std::chrono::minutes(10);
};

class CheckpointOrder {
 public:
  static constexpr Duration kSilence = std::chrono::seconds(60);  // until a shard or an answer is taken for lost
  static constexpr Duration kSettle = std::chrono::seconds(1);    // a lost saver's shard may be there already
  static constexpr Duration kAgainFirst = std::chrono::seconds(5);

  enum class Rank : std::uint8_t { kOneOfMany, kLast };
  enum class Action : std::uint8_t { kWait, kCarry, kAskAgain, kGiveUp };
  struct Decision {
    Action action = Action::kWait;
    std::string reason;
  };

  CheckpointOrder(std::uint64_t version, std::vector<Incarnation> savers, Rank rank, Instant now);

  void replica_lost(Incarnation replica, Instant now);
  void storage_lost(Instant now);
  // Whatever was sent may have been lost, for this reason.
  void doubt(const std::string& reason, Instant now);
  // They were asked to save it, after a kAskAgain.
  void asked(std::vector<Incarnation> savers) { savers_ = std::move(savers); }
  // kAskAgain and kCarry are said once per try.
  [[nodiscard]] Decision decide(bool has_storage, const CheckpointPatience& patience, Instant now);

  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] const std::vector<Incarnation>& savers() const { return savers_; }

 private:
  void expect_by(Instant due, const std::string& otherwise);

  std::uint64_t version_;
  std::vector<Incarnation> savers_;
  Rank rank_;
  Instant began_;
  Instant due_;
  std::string reason_;  // what is wrong if nothing was heard by then
  Duration pause_ = kAgainFirst;
  std::optional<Instant> without_storage_since_;
};

}  // namespace shoal
