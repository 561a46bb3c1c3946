// The data loader's samples, from a text: training sequences in the run's order, and its evaluation windows.
// Binds runtime/data to the interface of runtime/pipeline/dispatch.h; every answer is a function of its arguments. One
// thread asks for samples: that of TimelySamples.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/base/config.h"
#include "runtime/base/error.h"
#include "runtime/data/batch.h"
#include "runtime/pipeline/dispatch.h"

namespace shoal {

class TextSamples final : public SampleSource {
 public:
  // Tokens as open_tokens() checks them. The tokenizer is made for the first microbatch that is evaluated: its file may
  // be away, as the text may.
  TextSamples(const Config& config, std::shared_ptr<const Tokens> tokens);

  [[nodiscard]] Result<Sample> training(StepId step, MicrobatchId microbatch) const override;
  [[nodiscard]] std::uint32_t evaluation_count(EvaluationExtent extent) const override;
  [[nodiscard]] std::uint64_t evaluation_windows(EvaluationExtent extent) const override;
  [[nodiscard]] Result<Sample> evaluation(MicrobatchId microbatch) const override;

 private:
  [[nodiscard]] Result<const TextBytes*> text_bytes() const;
  [[nodiscard]] std::uint64_t batches(EvaluationExtent extent) const;

  std::shared_ptr<const Tokens> tokens_;
  std::string tokenizer_name_;
  int vocabulary_;
  mutable std::optional<TextBytes> text_bytes_;
  Order order_;
  EvaluationPlan plan_;
  EvalConfig eval_;
};

}  // namespace shoal
