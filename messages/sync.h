// The conversation between a stage's sync group, its replicas and the supervisor (protocol rules P-15 .. P-22).
//
//   group ──Open | Zero | Prepare | Reduce──▶ every replica of its stage
//   replica ──Manifest | Reduced | Progress──▶ group
//   replica ──Part, PartsSent──▶ other replicas of its stage ──MissingParts──▶ their sender
//   group ──Prepared (the vote)──▶ supervisor                 group ──Missing──▶ everyone upstream
//   data loader ──AllAnswered──▶ every group (pipeline.h)
//
// With sync.mode = diloco the same words agree on rounds: an order that names a round asks for the fragment's
// contribution (Prepare, answered by a Manifest), for its mean (Reduce, Part, Reduced) and is voted for (Prepared).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/ids.h"
#include "messages/tensor_blob.h"
#include "messages/values/collective_offer.h"

namespace shoal {

// A fragment's synchronisation (DESIGN.md §6): the number counts the fragment's rounds from 1; 0: no round, a step.
struct RoundId {
  std::uint32_t fragment = 0;
  std::uint64_t number = 0;
  friend auto operator<=>(const RoundId&, const RoundId&) = default;
};

// Names one order of one group. An order is obeyed only if its epoch is higher than the replica's own (P-15).
struct OrderId {
  RunId run;
  Branch branch;
  Term term;
  StageId stage;
  StepId step;  // for a round: the steps that were applied when its contributions were taken
  Epoch epoch;
  RoundId round = {};
  friend bool operator==(const OrderId&, const OrderId&) = default;
};

struct Open {
  OrderId order;
  friend bool operator==(const Open&, const Open&) = default;
};

struct Zero {
  OrderId order;
  friend bool operator==(const Zero&, const Zero&) = default;
};

struct Prepare {
  OrderId order;
  Epoch last_zero;  // the step's newest Zero; a replica whose epoch is older zeroes first, then answers (P-16b)
  friend bool operator==(const Prepare&, const Prepare&) = default;
};

struct Reduce {
  OrderId order;
  std::vector<Incarnation> members;  // ring order
  std::uint64_t token_count = 0;     // tokens of the step, from the manifests; for a round: of its members' shares
  // Set: a library sums on the members' devices, over the communicator that was made for this epoch; the order's own:
  // one is to be made (P-18b). Else the ring.
  std::optional<Epoch> communicator = {};
  friend bool operator==(const Reduce&, const Reduce&) = default;
};

struct ManifestEntry {
  MicrobatchId microbatch;
  std::uint64_t token_count = 0;
  double loss_sum = 0;                    // last stage only
  std::optional<std::string> bad_tensor;  // a gradient beyond exact mode's range, or not finite
  friend bool operator==(const ManifestEntry&, const ManifestEntry&) = default;
};

struct Manifest {
  OrderId order;
  Incarnation member;
  std::vector<ManifestEntry> entries;  // ascending by microbatch; of a round: none
  std::uint64_t share_tokens = 0;      // for a round: tokens trained on since the member's last contribution
  std::optional<CollectiveOffer> collective = {};  // none: it sums by parts alone
  std::vector<MicrobatchId> in_flight = {};        // entered and not answered, ascending: hints for P-14a, no proof
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

struct TensorNorm {
  std::string name;
  double squared_norm = 0;  // squared norm of the mean gradient, in fixed blocks (DESIGN.md §4.8)
  friend bool operator==(const TensorNorm&, const TensorNorm&) = default;
};

struct Reduced {
  OrderId order;
  Incarnation member;
  std::uint64_t digest = 0;  // XXH3-64 of the mean gradient's bytes
  std::vector<TensorNorm> norms;
  friend bool operator==(const Reduced&, const Reduced&) = default;
};

// One bucket on its way round the ring. lap 0: partial sums; lap 1: the whole sum. Where a library makes the sum, the
// id of a new communicator (P-18b).
struct Part {
  OrderId order;
  Incarnation member;  // the sender
  std::uint32_t bucket = 0;
  std::uint32_t hop = 0;  // 0 .. 2(R-1)-1; below R-1: add and pass on, then: copy and pass on
  TensorBlob values;      // int64 or float32 [n]; uint8: encoded
  friend bool operator==(const Part&, const Part&) = default;
};

// Which part: of a member's parts of one order there is no other of this bucket and hop.
struct PartId {
  std::uint32_t bucket = 0;
  std::uint32_t hop = 0;
  friend auto operator<=>(const PartId&, const PartId&) = default;
};

// Marks the end of all parts that `member` has sent to its receiver so far. Parts keep their order on the way, so those
// that have not come when the mark comes are lost.
struct PartsSent {
  OrderId order;
  Incarnation member;
  std::uint32_t mark = 0;  // 1, 2, ...
  TensorBlob values;       // one byte, so that it goes the way of parts
  friend bool operator==(const PartsSent&, const PartsSent&) = default;
};

// The answer, to the member `holder`: what it is to send, and has not come. What it has sent behind that mark may be on
// its way.
struct MissingParts {
  OrderId order;
  Incarnation member;  // the member that lacks them
  Incarnation holder;
  std::uint32_t mark = 0;
  std::vector<PartId> parts;  // ascending by bucket, each bucket once
  friend bool operator==(const MissingParts&, const MissingParts&) = default;
};

struct MemberManifest {
  Incarnation member;
  std::vector<ManifestEntry> entries;
  friend bool operator==(const MemberManifest&, const MemberManifest&) = default;
};

// Weight of a member's contribution to a round: the tokens it was trained on.
struct RoundShare {
  Incarnation member;
  std::uint64_t token_count = 0;
  friend bool operator==(const RoundShare&, const RoundShare&) = default;
};

struct Prepared {
  OrderId order;
  JournalPosition position;  // the group's position when it began the epoch
  std::uint64_t digest = 0;
  std::vector<MemberManifest> manifests;
  std::vector<TensorNorm> norms;
  std::vector<RoundShare> shares = {};  // for a round: the shares that were summed, ascending by member
  friend bool operator==(const Prepared&, const Prepared&) = default;
};

// Asks `upstream` (0: the data loader) to send these microbatches to the order's stage again, answered or not.
struct Missing {
  OrderId order;
  Incarnation upstream;
  std::vector<MicrobatchId> microbatches;
  friend bool operator==(const Missing&, const Missing&) = default;
};

struct Progress {
  OrderId order;  // epoch: the highest this replica has obeyed
  Incarnation member;
  std::uint32_t count = 0;  // microbatches answered; of a round: none
  // Counts what came of its sum: parts, and pieces of those that take long. Said about twice a second while it rises: a
  // slow member must not be taken for one that stands still. 0: it says nothing of a sum.
  std::uint64_t parts = 0;
  std::string failure = {};  // why its sum will not come in this epoch (P-18b)
  friend bool operator==(const Progress&, const Progress&) = default;
};

}  // namespace shoal
