// Binds runtime/data to the data loader's interface.
#include "launch/processes/text/text_samples.h"

#include "runtime/data/tokenizers/tokenizer.h"

namespace shoal {

TextSamples::TextSamples(const Config& config, std::shared_ptr<const Tokens> tokens)
    : tokens_(std::move(tokens)),
      tokenizer_name_(config.data.tokenizer),
      vocabulary_(config.model.vocabulary),
      order_(order_config(config, tokens_->split().train)),
      plan_(tokens_, static_cast<std::uint64_t>(config.model.context), config.batch),
      eval_(config.eval) {}

namespace {

Result<Sample> sample_of(Result<Microbatch> made) {
  if (!made) return made.failure();
  return Sample{std::move(made->inputs), std::move(made->targets)};
}

}  // namespace

Result<Sample> TextSamples::training(StepId step, MicrobatchId microbatch) const {
  return sample_of(make_microbatch(*tokens_, order_, step, microbatch));
}

std::uint64_t TextSamples::batches(EvaluationExtent extent) const {
  return plan_.batch_count(extent == EvaluationExtent::kLast ? eval_.final_batches : eval_.batches);
}

std::uint32_t TextSamples::evaluation_count(EvaluationExtent extent) const {
  std::uint32_t count = 0;
  for (std::uint64_t batch = 0; batch < batches(extent); ++batch) count += plan_.microbatch_count(batch);
  return count;
}

Result<const TextBytes*> TextSamples::text_bytes() const {
  if (!text_bytes_) {
    const auto tokenizer = make_tokenizer(tokenizer_name_);
    if (!tokenizer) return tokenizer.failure();
    text_bytes_.emplace(**tokenizer, vocabulary_);
  }
  return &*text_bytes_;
}

std::uint64_t TextSamples::evaluation_windows(EvaluationExtent extent) const {
  return plan_.window_count(batches(extent));
}

Result<Sample> TextSamples::evaluation(MicrobatchId microbatch) const {
  const std::uint32_t per_batch = plan_.microbatch_count(0);  // only the last batch may have fewer
  const auto bytes = text_bytes();
  if (!bytes) return bytes.failure();
  auto sample = sample_of(plan_.microbatch(microbatch.value / per_batch, MicrobatchId{microbatch.value % per_batch}));
  if (sample) sample->target_bytes = (*bytes)->of(sample->targets);
  return sample;
}

}  // namespace shoal
