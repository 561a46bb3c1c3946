// Microbatches as tensors: inputs and targets of training sequences and of evaluation windows.
//
// B sequences of T = context tokens, int32 [B, T]. targets[b, t] is the token after inputs[b, t]; -1 is not counted.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "messages/ids.h"
#include "messages/tensor_blob.h"
#include "runtime/data/order.h"
#include "runtime/data/tokenizers/tokenizer.h"
#include "runtime/data/tokens.h"

namespace shoal {

struct Microbatch {
  TensorBlob inputs;   // int32 [B, T]
  TensorBlob targets;  // int32 [B, T]
};

// The training microbatch of the order. `order` was made for these tokens' training part (ensured). Errors: those of
// Tokens::read().
[[nodiscard]] Result<Microbatch> make_microbatch(const Tokens& tokens, const Order& order, StepId step,
                                                 MicrobatchId microbatch);

// The evaluation's windows: at kC over the validation tokens, the last partial one kept, each token but the first a
// target once. Batch i is the windows [i, i+1) x sequences, cut into microbatches. All tensors are full [B, T]: what
// has no target is padded with input 0 and target -1.
class EvaluationPlan {
 public:
  // batch: sequences and microbatch as in training. The validation part has at least 2 tokens (ensured).
  EvaluationPlan(std::shared_ptr<const Tokens> tokens, std::uint64_t context, const BatchConfig& batch);

  [[nodiscard]] std::uint64_t window_count() const { return windows_; }
  // Counts those of the first `batches` batches.
  [[nodiscard]] std::uint64_t window_count(std::uint64_t batches) const;
  // Batches in all, or `limit` if that is fewer; limit 0: all (eval.batches, eval.final_batches).
  [[nodiscard]] std::uint64_t batch_count(int limit) const;
  // Microbatches of a batch; the last batch may have fewer.
  [[nodiscard]] std::uint32_t microbatch_count(std::uint64_t batch) const;
  // Errors: those of Tokens::read().
  [[nodiscard]] Result<Microbatch> microbatch(std::uint64_t batch, MicrobatchId microbatch) const;

 private:
  std::shared_ptr<const Tokens> tokens_;
  std::uint64_t context_;
  std::uint64_t sequences_;
  std::uint64_t microbatch_;
  std::uint64_t windows_;
};

// All microbatches of one batch, in order. Errors: those of Tokens::read().
[[nodiscard]] Result<std::vector<Microbatch>> evaluation_microbatches(const EvaluationPlan& plan, std::uint64_t batch);

// Counts the bytes of text that targets stand for. The token that ends a text stands for none: it is in no text, so its
// loss counts and its word "<|endoftext|>" does not.
class TextBytes {
 public:
  // vocabulary: the tokenizer's or more (ensured); the others stand for nothing.
  TextBytes(const Tokenizer& tokenizer, int vocabulary);

  // targets: int32, tokens of the vocabulary (ensured), or -1, which counts nothing.
  [[nodiscard]] std::uint64_t of(const TensorBlob& targets) const;

 private:
  std::vector<std::uint32_t> bytes_;  // by token
};

// nats: mean loss per token. nats / ln 2 x tokens / bytes; without bytes it is not a number.
[[nodiscard]] double bits_per_byte(double nats, std::uint64_t tokens, std::uint64_t bytes);

}  // namespace shoal
