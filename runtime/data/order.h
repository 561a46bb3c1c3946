// Order of the data: the sequences of a microbatch, a pure function of (seed, step, microbatch) without state.
//
// Definition, for C = context and N = training tokens (changing it changes every run; golden values are pinned):
//   * An epoch has W = floor((N - C) / C) windows. Its shift s in [0, C) depends on (seed, epoch); window j is the
//     sequence at offset s + jC, with inputs [o, o+C) and targets [o+1, o+C+1). W is the largest count that fits at
//     every shift, so that epochs have equal lengths and seeking is a division; at most 2C - 1 tokens of an epoch's
//     ends are left out, others in each epoch.
//   * Sequence number n = step * sequences + microbatch * microbatch_size + k is entry n mod W of epoch n / W: window
//     permutation(seed, epoch)(n mod W). Each window is taken once per epoch.
//   * The permutation is a Feistel network of six rounds over the next even power of two, walked along its cycles
//     until it falls below W: O(1) time and memory. Round function and shift: Philox (counter_random.h).
#pragma once

#include <cstdint>
#include <vector>

#include "messages/ids.h"
#include "runtime/base/config.h"

namespace shoal {

// One permutation of [0, size) per (seed, epoch).
class KeyedPermutation {
 public:
  // size >= 1.
  KeyedPermutation(std::uint64_t seed, std::uint64_t epoch, std::uint64_t size);
  // index < size; the result too.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t index) const;

 private:
  [[nodiscard]] std::uint64_t feistel(std::uint64_t index) const;

  std::uint64_t seed_;
  std::uint64_t epoch_;
  std::uint64_t size_;
  std::uint32_t half_bits_;
};

struct OrderConfig {
  std::uint64_t seed = 1;
  std::uint64_t context = 0;       // tokens of a sequence
  std::uint64_t sequences = 0;     // sequences of a step
  std::uint64_t microbatch = 0;    // sequences of a microbatch; divides `sequences`
  std::uint64_t train_tokens = 0;  // at least 2 x context
};

[[nodiscard]] OrderConfig order_config(const Config& config, std::uint64_t train_tokens);

class Order {
 public:
  // Ensures the bounds stated at OrderConfig: files and configurations are checked before (check_length, Config).
  explicit Order(const OrderConfig& config);

  // Start positions in the training tokens of the microbatch's sequences. microbatch < microbatches_per_step().
  [[nodiscard]] std::vector<std::uint64_t> offsets(StepId step, MicrobatchId microbatch) const;
  // Start position of the n-th sequence of the whole run.
  [[nodiscard]] std::uint64_t offset(std::uint64_t sequence_number) const;
  [[nodiscard]] std::uint64_t shift(std::uint64_t epoch) const;
  [[nodiscard]] std::uint64_t windows_per_epoch() const { return windows_; }
  [[nodiscard]] std::uint64_t microbatches_per_step() const { return config_.sequences / config_.microbatch; }
  [[nodiscard]] const OrderConfig& config() const { return config_; }

 private:
  OrderConfig config_;
  std::uint64_t windows_;
};

}  // namespace shoal
