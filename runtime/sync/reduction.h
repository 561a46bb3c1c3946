// The sum of all members' contributions, bucket by bucket, for one order: what every backend promises (P-18a).
//
//   begin() ──parts──▶ others        a part of another ──receive()──▶ parts for others, until is_complete()
//   mark() ──PartsSent──▶ others ──missing()──▶ MissingParts ──send_again()──▶ what was lost on its way, and only that
//
// Nothing is sent a second time because it is late: the order of what goes one way is kept, so a mark sent behind all
// parts comes when they have come, unless they are lost. Who hears it names what has not come, and its sender knows
// what it sent before that mark. Marks are sent when the group repeats its order, because the sum stands still.
//
// Invariants of every backend: the own contribution is never written; all members end with the same bits, whatever the
// order of messages, their repeats and losses; a part of another order never enters (P-15); a repeated part changes
// nothing. It is made for one order and dropped with it: nothing of it outlives an abort or another view.
//
// A contribution of float32 may travel in a wire format that loses precision. Then what is lost is stated per member
// (residual()), and the sum is what was really added: decoded values, in float32. int64 sums always travel exactly.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "messages/sync.h"
#include "messages/tensor_blob.h"
#include "runtime/base/bound.h"
#include "runtime/base/config.h"
#include "runtime/base/error.h"

namespace shoal {

// An order, and every part of its sum, is about a step, or about one round of a fragment (sync.mode = diloco).
[[nodiscard]] inline bool is_of_a_round(const OrderId& order) { return order.round.number != 0; }

inline const Bound kBucketBytes{"sync.bucket_bytes",
                                std::uint64_t{1} << 20U};  // bytes of the contribution, whatever it is sent as
inline const Bound kOwnerWindow{"sync.owner_window", 16};  // buckets of one member
inline const Bound kRingBytes{"sync.ring_bytes",
                              std::uint64_t{32} << 20U};  // bytes of all members' buckets in their first lap
// Largest magnitude of a value that is sent in another form than float32: a thousand can be summed within its range.
inline constexpr float kContributionMax = 0x1p+90F;

struct ReductionSetup {
  OrderId order;
  std::vector<Incarnation> members;  // each once, self among them; the same order for everybody
  Incarnation self;
  std::size_t bucket_bytes = kBucketBytes;
  WireFormat wire = WireFormat::kFp32;  // form of float32 contributions; fp32: the elements as they are
  bool error_feedback = false;          // keep residual()
  std::size_t window = 0;               // buckets of its own that a member has under way; 0: as suits the backend
};

struct AddressedPart {
  Incarnation receiver;
  Part part;
  friend bool operator==(const AddressedPart&, const AddressedPart&) = default;
};

struct AddressedMark {
  Incarnation receiver;
  PartsSent mark;
};

// Answer to a question of another member: parts for it, and questions about what has to come here again first.
struct SentAgain {
  std::vector<AddressedPart> parts;
  std::vector<MissingParts> questions;
};

class GroupReduction {
 public:
  virtual ~GroupReduction() = default;

  // The parts this member starts with. Empty when it is alone. Call once, first.
  [[nodiscard]] virtual std::vector<AddressedPart> begin() = 0;
  // Returns the parts to send because of this one. A part of another order, of a wrong member, of a wrong type or size
  // or that cannot be decoded changes nothing, gives nothing and is counted.
  [[nodiscard]] virtual std::vector<AddressedPart> receive(const Part& part) = 0;
  // Behind everything that was sent so far, one for each member that parts go to.
  [[nodiscard]] virtual std::vector<AddressedMark> mark() = 0;
  // Asks for what the mark's sender was to send before it and has not come; nothing: all of it has come.
  [[nodiscard]] virtual std::optional<MissingParts> missing(const PartsSent& mark) const = 0;
  // Sends again what was lost. A question that no member can mean changes nothing and gives nothing.
  [[nodiscard]] virtual SentAgain send_again(const MissingParts& question) = 0;
  // Parts that brought the sum closer: repeats do not.
  [[nodiscard]] virtual std::uint64_t parts_taken() const = 0;

  [[nodiscard]] virtual bool is_complete() const = 0;
  // The whole sum, shaped like the contribution. Ensures is_complete().
  [[nodiscard]] virtual TensorBlob sum() const = 0;
  // Values that this member's encoding left out of the sum, float32 like the contribution: added to its next one
  // of the same span, they are not lost (wire/error_feedback.h). No tensor without error feedback or where nothing is
  // encoded. Ensures is_complete().
  [[nodiscard]] virtual TensorBlob residual() const = 0;
  [[nodiscard]] virtual std::uint64_t refused_count() const = 0;
  [[nodiscard]] virtual const OrderId& order() const = 0;
};

// contribution: int64 or float32 [n], kept as it is; of a member with others its bytes are there. Fails where the wire
// format cannot carry it: not a number, or beyond kContributionMax.
[[nodiscard]] Result<std::unique_ptr<GroupReduction>> make_reduction(SyncBackend backend, ReductionSetup setup,
                                                                     TensorBlob contribution);

// Bytes of values that all members together send for one sum of so many values, without loss: 2 (R - 1) times the
// vector in its wire format, for both backends. Ring: each bucket is sent R - 1 times as a partial sum and R - 1 times
// as the whole. Owner: R - 1 times to its owner and R - 1 times back. Headers and short blocks come on top.
[[nodiscard]] double analytic_bytes(WireFormat wire, std::uint64_t value_count, std::uint64_t member_count);

// Parts that came before our own Reduce of their epoch. Only the highest epoch seen is kept; a lower one is void
// (P-15).
class HeldParts {
 public:
  // Bounds the parts that are held; what exceeds the bound is dropped, and the group's time-out opens a new epoch.
  explicit HeldParts(const Bound& bound) : bound_(&bound) {}

  void hold(const Part& part);
  // Parts of lower epochs are void.
  void drop_below(const Epoch& epoch);
  // The held parts of this epoch; parts of lower epochs are dropped.
  [[nodiscard]] std::vector<Part> take(const Epoch& epoch);
  void clear() { parts_.clear(), epoch_ = {}; }
  [[nodiscard]] std::size_t size() const { return parts_.size(); }

 private:
  const Bound* bound_;
  Epoch epoch_;
  std::vector<Part> parts_;
};

}  // namespace shoal
