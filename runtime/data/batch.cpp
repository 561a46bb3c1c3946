// Fills tensors from the mapped tokens.
#include "runtime/data/batch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>

#include "runtime/base/ensure.h"

namespace shoal {
namespace {

constexpr std::int32_t kNoTarget = -1;
constexpr std::int32_t kPadding = 0;

// An int32 [rows, columns] under construction; finish() makes it immutable.
class Rows {
 public:
  Rows(std::uint64_t rows, std::uint64_t columns)
      : rows_(rows),
        columns_(columns),
        buffer_(std::make_shared<AlignedBuffer>(rows * columns * size_of(DType::kInt32))) {}

  [[nodiscard]] std::span<std::int32_t> row(std::uint64_t index) {
    return {reinterpret_cast<std::int32_t*>(buffer_->data()) + index * columns_, columns_};
  }
  [[nodiscard]] TensorBlob finish() && {
    return TensorBlob{.dtype = DType::kInt32,
                      .shape = {static_cast<std::int64_t>(rows_), static_cast<std::int64_t>(columns_)},
                      .bytes = std::move(buffer_)};
  }

 private:
  std::uint64_t rows_;
  std::uint64_t columns_;
  std::shared_ptr<AlignedBuffer> buffer_;
};

}  // namespace

Result<Microbatch> make_microbatch(const Tokens& tokens, const Order& order, StepId step, MicrobatchId microbatch) {
  ENSURE(order.config().train_tokens == tokens.split().train, "the order was made for these tokens");
  const std::vector<std::uint64_t> offsets = order.offsets(step, microbatch);
  Rows inputs(offsets.size(), order.config().context);
  Rows targets(offsets.size(), order.config().context);
  for (std::size_t b = 0; b < offsets.size(); ++b) {
    if (const Status read = tokens.read(offsets[b], inputs.row(b)); !read) return read.failure();
    if (const Status read = tokens.read(offsets[b] + 1, targets.row(b)); !read) return read.failure();
  }
  return Microbatch{.inputs = std::move(inputs).finish(), .targets = std::move(targets).finish()};
}

EvaluationPlan::EvaluationPlan(std::shared_ptr<const Tokens> tokens, std::uint64_t context, const BatchConfig& batch)
    : tokens_(std::move(tokens)),
      context_(context),
      sequences_(static_cast<std::uint64_t>(batch.sequences)),
      microbatch_(static_cast<std::uint64_t>(batch.microbatch)) {
  ENSURE(context >= 1, "a context has tokens");
  ENSURE(batch.microbatch >= 1 && batch.sequences >= batch.microbatch, "a batch has microbatches");
  ENSURE(tokens_->split().validation >= 2, "the validation tokens hold a target");
  windows_ = (tokens_->split().validation - 1 + context - 1) / context;
}

std::uint64_t EvaluationPlan::batch_count(int limit) const {
  const std::uint64_t all = (windows_ + sequences_ - 1) / sequences_;
  return limit <= 0 ? all : std::min(all, static_cast<std::uint64_t>(limit));
}

std::uint64_t EvaluationPlan::window_count(std::uint64_t batches) const {
  return std::min(windows_, batches * sequences_);
}

std::uint32_t EvaluationPlan::microbatch_count(std::uint64_t batch) const {
  ENSURE(batch < batch_count(0), "a batch of the evaluation");
  const std::uint64_t windows = std::min(sequences_, windows_ - batch * sequences_);
  return static_cast<std::uint32_t>((windows + microbatch_ - 1) / microbatch_);
}

Result<Microbatch> EvaluationPlan::microbatch(std::uint64_t batch, MicrobatchId microbatch) const {
  ENSURE(microbatch.value < microbatch_count(batch), "a microbatch of the batch");
  const std::uint64_t first = batch * sequences_ + microbatch.value * microbatch_;
  const std::uint64_t end = std::min({first + microbatch_, (batch + 1) * sequences_, windows_});
  Rows inputs(microbatch_, context_);
  Rows targets(microbatch_, context_);
  for (std::uint64_t b = 0; b < microbatch_; ++b) {
    std::ranges::fill(inputs.row(b), kPadding);
    std::ranges::fill(targets.row(b), kNoTarget);
    if (first + b >= end) continue;
    const std::uint64_t start = (first + b) * context_;
    const std::uint64_t count = std::min(context_, tokens_->split().validation - 1 - start);
    const std::uint64_t first_token = tokens_->split().train + start;
    if (const Status read = tokens_->read(first_token, inputs.row(b).first(count)); !read) return read.failure();
    if (const Status read = tokens_->read(first_token + 1, targets.row(b).first(count)); !read) return read.failure();
  }
  return Microbatch{.inputs = std::move(inputs).finish(), .targets = std::move(targets).finish()};
}

TextBytes::TextBytes(const Tokenizer& tokenizer, int vocabulary) : bytes_(static_cast<std::size_t>(vocabulary)) {
  ENSURE(vocabulary >= tokenizer.vocabulary_size(), "a vocabulary has the tokens of its tokenizer");
  for (std::int32_t token = 0; token < tokenizer.vocabulary_size(); ++token) {
    if (!tokenizer.is_of_texts(token)) continue;
    bytes_[static_cast<std::size_t>(token)] = static_cast<std::uint32_t>(tokenizer.bytes_of(token).size());
  }
}

std::uint64_t TextBytes::of(const TensorBlob& targets) const {
  std::uint64_t bytes = 0;
  for (std::int64_t i = 0; i < targets.element_count(); ++i) {
    const std::int32_t target = targets.as<std::int32_t>()[i];
    if (target == kNoTarget) continue;
    const auto token = static_cast<std::size_t>(target);
    ENSURE(target >= 0 && token < bytes_.size(), "a target is a token");
    bytes += bytes_[token];
  }
  return bytes;
}

Result<std::vector<Microbatch>> evaluation_microbatches(const EvaluationPlan& plan, std::uint64_t batch) {
  std::vector<Microbatch> microbatches;
  for (std::uint32_t i = 0; i < plan.microbatch_count(batch); ++i) {
    auto made = plan.microbatch(batch, MicrobatchId{i});
    if (!made) return made.failure();
    microbatches.push_back(std::move(*made));
  }
  return microbatches;
}

double bits_per_byte(double nats, std::uint64_t tokens, std::uint64_t bytes) {
  if (bytes == 0) return std::numeric_limits<double>::quiet_NaN();
  return nats / std::numbers::ln2 * static_cast<double>(tokens) / static_cast<double>(bytes);
}

}  // namespace shoal
