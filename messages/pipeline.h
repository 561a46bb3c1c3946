// The conversation along the pipeline: the reply to an activation is its gradient.
//
//   data_loader ──Forward──▶ stage 0 ──Forward──▶ ... ──▶ last stage
//   data_loader ◀─Backward── stage 0 ◀─Backward── ... ◀── last stage          or Refusal from any of them
//   data_loader ──AllAnswered──▶ every sync group          data_loader ──AskHolders──▶ sync group ──Holders──▶ it
//   after a long wait:  Ask ──▶ the same hop ──▶ AskAnswer (working | unknown) or the Backward itself
//
// A reply is matched by (branch, step, microbatch, purpose), never by the connection it came over.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "messages/cause.h"
#include "messages/ids.h"
#include "messages/tensor_blob.h"

namespace shoal {

enum class Purpose : std::uint8_t { kTrain, kEvaluate };

// The data loader takes part in the conversation as the sender of the first hop under its own actor incarnation.
struct Forward {
  Cause cause;
  Incarnation sender;
  std::uint64_t weights_version = 0;  // steps applied; train: == cause.step
  Purpose purpose = Purpose::kTrain;
  std::vector<Incarnation> path;  // one replica per stage
  TensorBlob input;               // hop 0: tokens int32 [B,T]; later: activation float32 [B,T,C], or encoded
  TensorBlob targets;             // int32 [B,T]; -1 = not counted
  friend bool operator==(const Forward&, const Forward&) = default;
};

// Times that one replica of the path spent on one microbatch, in milliseconds.
struct Hop {
  Incarnation replica;
  float queue_ms = 0;
  float compute_ms = 0;
  float transfer_ms = 0;
  friend bool operator==(const Hop&, const Hop&) = default;
};

struct Backward {
  Cause cause;
  Incarnation sender;  // the replica that answers
  std::uint64_t weights_version = 0;
  Purpose purpose = Purpose::kTrain;
  std::vector<Hop> trail;     // last stage first
  TensorBlob input_gradient;  // d(loss sum)/d(input) in the form of the input; none towards the loader or for kEvaluate
  double loss_sum = 0;        // nats over token_count targets
  std::uint64_t token_count = 0;
  friend bool operator==(const Backward&, const Backward&) = default;
};

enum class RefusalReason : std::uint8_t {
  kFenced,          // the sender is not in my view
  kStepCommitted,   // the step is lower than my version
  kStepNotReached,  // higher, and my waiting room is full
  kFrozen,          // I have given my manifest
  kNotMember,       // I am no member yet, or no longer
  kBusy,            // not in the plan, or beyond my evaluations
  kUnknownReplica,  // no such replica in this process
};

struct Refusal {
  Cause cause;
  Incarnation sender;
  Purpose purpose = Purpose::kTrain;
  RefusalReason reason = RefusalReason::kFenced;
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

struct Ask {
  Cause cause;
  Incarnation sender;
  Purpose purpose = Purpose::kTrain;
  friend bool operator==(const Ask&, const Ask&) = default;
};

enum class AskState : std::uint8_t { kWorking, kUnknown };

struct AskAnswer {
  Cause cause;
  Incarnation sender;
  Purpose purpose = Purpose::kTrain;
  AskState state = AskState::kUnknown;
  friend bool operator==(const AskAnswer&, const AskAnswer&) = default;
};

// The data loader to every sync group: a hint to prepare, never a proof (P-14).
struct AllAnswered {
  Branch branch;
  StepId step;
  friend bool operator==(const AllAnswered&, const AllAnswered&) = default;
};

// Asks after a restart who holds which microbatch of the step (P-14).
struct AskHolders {
  StageId stage;
  Branch branch;
  StepId step;
  friend bool operator==(const AskHolders&, const AskHolders&) = default;
};

struct Holder {
  MicrobatchId microbatch;
  Incarnation replica;
  friend bool operator==(const Holder&, const Holder&) = default;
};

struct Holders {
  StageId stage;
  Branch branch;
  StepId step;
  std::vector<Holder> holders;
  friend bool operator==(const Holders&, const Holders&) = default;
};

[[nodiscard]] const char* to_text(RefusalReason reason);

}  // namespace shoal
