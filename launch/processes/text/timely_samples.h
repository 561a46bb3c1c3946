// Samples of a text that may hang, as a network file system does: who asks for one has an answer in time.
//
// A thread reads. What is not read within the patience, which questions of one turn share, is late (kUnreachable): the
// data loader goes on with other things, asks again, and takes what the thread has read meanwhile; what stays late it
// waits for as for a text that is away (DataWait). One sample at a time is read and kept: the next question is for the
// same one. A data loader that was replaced may ask beside its successor: whoever wants another sample than the one
// that is being read, or whose sample gave way to another, is told at once that it is late.
#pragma once

#include <memory>
#include <string>

#include "runtime/base/clock.h"
#include "runtime/pipeline/dispatch.h"

namespace shoal {

class TimelySamples final : public SampleSource {
 public:
  // name: of the text, for people.
  TimelySamples(std::shared_ptr<const SampleSource> samples, std::string name, Duration patience);
  // A read that hangs is left to its thread, which outlives this.
  ~TimelySamples() override;
  TimelySamples(const TimelySamples&) = delete;
  TimelySamples& operator=(const TimelySamples&) = delete;

  [[nodiscard]] Result<Sample> training(StepId step, MicrobatchId microbatch) const override;
  [[nodiscard]] std::uint32_t evaluation_count(EvaluationExtent extent) const override;
  [[nodiscard]] std::uint64_t evaluation_windows(EvaluationExtent extent) const override;
  [[nodiscard]] Result<Sample> evaluation(MicrobatchId microbatch) const override;

 private:
  struct Desk;  // shared with the thread

  std::shared_ptr<const SampleSource> samples_;
  const std::string name_;
  const Duration patience_;
  std::shared_ptr<Desk> desk_;
};

}  // namespace shoal
