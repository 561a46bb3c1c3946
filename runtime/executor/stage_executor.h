// Interface of a device for a stage actor: one copy of a stage's weights, its optimiser state and its accumulators.
//
// Pure interface without torch, so that the stage actor, its tests and the simulation build without it; runtime/device
// implements it. Not thread-safe: one thread calls it. Values between calls are host tensors, 64-byte aligned; with
// pipeline.activations those that cross a border are encoded vectors, uint8 [n], instead of float32 [B,T,C].
//
// Gradients are of the *sum* of the loss over tokens; the division by the step's tokens happens once, in adopt_sum.
// Exact mode: accumulators are int64 fixed point (DESIGN.md §4.9); fast mode: float32.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "messages/ids.h"
#include "messages/sync.h"
#include "messages/tensor_blob.h"
#include "runtime/base/error.h"
#include "runtime/storage/image/image_source.h"

namespace shoal {

struct MicrobatchWork {
  StepId step;
  MicrobatchId microbatch;
  TensorBlob input;    // first stage: tokens int32 [B,T]; else activation float32 [B,T,C], or encoded as configured
  TensorBlob targets;  // int32 [B,T]; -1 = not counted. Read by the last stage; all count their tokens by it.
};

// Says what state an executor is made with: the initial weights of (run.seed, tensor name), or none, because an image
// is loaded before anything else is asked of it (ensured). Drawing weights takes as long as copying them.
enum class BeginsWith : std::uint8_t { kInitialWeights, kImage };

// Says when a backward computes the gradients of the weights: with the input's, while what they are made of is in the
// caches, or in accumulate(), so that a neighbour is answered first. The bits are the same.
enum class WeightGradients : std::uint8_t { kAtOnce, kLater };

struct BackwardResult {
  TensorBlob input_gradient;      // float32 [B,T,C]; none from the first stage
  double loss_sum = 0;            // last stage only
  std::uint64_t token_count = 0;  // targets >= 0
};

struct AccumulateResult {
  std::uint64_t token_count = 0;          // tokens of the microbatch
  std::optional<std::string> bad_tensor;  // set: nothing was accumulated for this tensor; the step must be skipped
};

struct EvaluateResult {
  TensorBlob activation;  // none from the last stage
  double loss_sum = 0;    // last stage only
  std::uint64_t token_count = 0;
};

struct ReducedSum {
  std::uint64_t digest = 0;       // XXH3-64 of the mean gradient, tensors in the order of their names
  std::vector<TensorNorm> norms;  // per tensor, ascending by name
};

struct UpdateOrder {
  double learning_rate = 0;
  double clip_scale = 1;
  std::uint64_t optimizer_step = 1;  // 1 for the first update: the t of the bias corrections
};

// Input of one fragment's outer update at a boundary between steps (DESIGN.md §6). Weights are tokens.
struct RoundUpdate {
  std::uint32_t fragment = 0;
  std::uint64_t round = 0;   // the one due, from 1; 0: there is none yet (first boundary of `delayed` and `eager`)
  TensorBlob mean;           // float32 [n], sum(weight * delta) / sum(weight); none: there is nothing to take over
  TensorBlob own = {};       // eager: this replica's delta as that mean holds it, where encoding changed it; else none
  double own_weight = 0;     // weight of this replica's delta in that mean; 0: it was not merged
  double total_weight = 0;   // all of it; without a mean, the others' contributions just taken, which count as zeros
  double newest_weight = 0;  // weight of the contribution taken last (`eager`); 0: it has none
  bool is_closing = false;   // nothing of the fragment is in flight after it: nobody goes ahead of the agreed values
};

// Bytes of an image from `offset` on.
struct ImagePiece {
  TensorBlob bytes;
  std::uint64_t offset = 0;
  std::uint64_t bytes_total = 0;  // of the image
};

class StageExecutor {
 public:
  virtual ~StageExecutor() = default;

  // Not the last stage, training: the activation float32 [B,T,C]; keeps the input, and the graph unless it recomputes.
  [[nodiscard]] virtual TensorBlob forward(const MicrobatchWork& work) = 0;
  // Not the last stage: the backward of an earlier forward() of the same microbatch.
  [[nodiscard]] virtual BackwardResult backward(MicrobatchId microbatch, const TensorBlob& output_gradient,
                                                WeightGradients when) = 0;
  // Last stage: forward, loss and backward at once.
  [[nodiscard]] virtual BackwardResult forward_backward(const MicrobatchWork& work, WeightGradients when) = 0;
  // Once after each of these, in any order (ensured): adds the microbatch's gradients to the accumulators.
  [[nodiscard]] virtual AccumulateResult accumulate(MicrobatchId microbatch) = 0;
  // No graph, no dropout, nothing kept.
  [[nodiscard]] virtual EvaluateResult evaluate(const MicrobatchWork& work) = 0;

  // Empties the accumulators and drops every kept microbatch (Zero).
  virtual void zero() = 0;

  // A copy of the accumulators: int64 (exact) or float32 (fast) [elements], tensors in the order of their names. Every
  // microbatch was accumulated to the end (ensured).
  [[nodiscard]] virtual TensorBlob contribution() const = 0;
  // Takes the whole step's sum, apart from the accumulators; mean = sum / token_count. May be called again.
  [[nodiscard]] virtual ReducedSum adopt_sum(const TensorBlob& sum, std::uint64_t token_count) = 0;
  // Applies the adopted mean, then empties accumulators, kept microbatches and the sum. Ensures that there is a sum.
  virtual void apply(const UpdateOrder& order) = 0;
  // The same emptying without an update.
  virtual void skip() = 0;

  // XXH3-64 over what all replicas of the stage hold alike (S-3): weights and optimiser state; in diloco mode the
  // agreed outer parameters and momentum, because between rounds each replica's own ones differ.
  [[nodiscard]] virtual std::uint64_t state_digest() const = 0;
  // A safetensors image of weights, optimiser state and (diloco) outer state, uint8 [n].
  [[nodiscard]] virtual TensorBlob state_image() const = 0;
  // Replaces them; an image without outer state starts one at its weights, without momentum. A missing or ill-shaped
  // tensor, or a broken image: kInvalidData, and nothing was changed.
  [[nodiscard]] virtual Status load_state(const TensorBlob& image) = 0;
  // The same image, to be read while this executor lives and goes on: what a later call changes is copied before, as
  // far as it was not released.
  [[nodiscard]] virtual std::shared_ptr<ImageSource> image_source() = 0;
  // Loads an image piece by piece, from its first byte on (ensured). True: that was the last one. Errors as of
  // load_state; from the first piece on the state is nobody's until an image was loaded to its end.
  [[nodiscard]] virtual Result<bool> load_piece(const ImagePiece& piece) = 0;
  // Names of this stage's weights, ascending.
  [[nodiscard]] virtual std::vector<std::string> tensor_names() const = 0;

  // sync.mode = diloco only (ensured); fragments are those of runtime/journal/round_plan.h.
  // A fragment's outer gradient: base - local, float32 [n], in the order of names; [3n] where averages travel with it.
  [[nodiscard]] virtual TensorBlob contribute_round(std::uint32_t fragment) = 0;
  // Steps outer parameters and momentum by the mean and merges them into the local ones. The XXH3-64 of the fragment's
  // agreed outer parameters and momentum: equal at every member (S-3).
  [[nodiscard]] virtual std::uint64_t apply_round(const RoundUpdate& update) = 0;
  // local := outer everywhere, nothing contributed: how a member that missed a round goes on. Digests by fragment.
  virtual std::vector<std::uint64_t> restart_from_outer() = 0;
};

}  // namespace shoal
