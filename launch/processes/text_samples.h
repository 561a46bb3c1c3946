// The data loader's samples, from a text: training sequences in the run's order, and its evaluation windows.
// Binds runtime/data to the interface of runtime/pipeline/dispatch.h; every answer is a function of its arguments.
#pragma once

#include <memory>

#include "runtime/base/config.h"
#include "runtime/base/error.h"
#include "runtime/data/batch.h"
#include "runtime/data/tokenizer.h"
#include "runtime/pipeline/dispatch.h"

namespace shoal {

class TextSamples final : public SampleSource {
 public:
  // Gets the corpus if need be and maps it. Errors: kInvalidData (missing, too short), kUnreachable, kIo, kUsage.
  [[nodiscard]] static Result<std::unique_ptr<TextSamples>> open(const Config& config);

  [[nodiscard]] Result<Sample> training(StepId step, MicrobatchId microbatch) const override;
  [[nodiscard]] std::uint32_t evaluation_count(EvaluationExtent extent) const override;
  [[nodiscard]] Result<std::uint64_t> evaluation_target_bytes(EvaluationExtent extent) const override;
  [[nodiscard]] std::uint64_t evaluation_windows(EvaluationExtent extent) const override;
  [[nodiscard]] Result<Sample> evaluation(MicrobatchId microbatch) const override;

  [[nodiscard]] std::string corpus_sha256() const { return tokens_->corpus_sha256(); }

 private:
  TextSamples(const Config& config, std::shared_ptr<const Tokens> tokens, std::shared_ptr<const Tokenizer> tokenizer);
  [[nodiscard]] std::uint64_t batches(EvaluationExtent extent) const;

  std::shared_ptr<const Tokens> tokens_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  Order order_;
  EvaluationPlan plan_;
  EvalConfig eval_;
};

}  // namespace shoal
