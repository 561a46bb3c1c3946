// Order by arithmetic: nothing is stored, so a restarted data loader continues by knowing the step alone.
#include "runtime/data/order.h"

#include <bit>

#include "runtime/base/counter_random.h"
#include "runtime/base/ensure.h"

namespace shoal {
namespace {

constexpr std::uint32_t kFeistelRounds = 6;
constexpr std::uint32_t kShiftPurpose = 0xFFFFFFFFU;  // a round number that no Feistel network has

// One word for (seed, epoch, purpose, input). The key differs from that of other users of the run's seed.
std::uint32_t word(std::uint64_t seed, std::uint64_t epoch, std::uint32_t purpose, std::uint32_t input) {
  const auto key = philox_key(seed ^ stream_of("order of samples"));
  return philox4x32({input, purpose, static_cast<std::uint32_t>(epoch), static_cast<std::uint32_t>(epoch >> 32U)},
                    key)[0];
}

}  // namespace

KeyedPermutation::KeyedPermutation(std::uint64_t seed, std::uint64_t epoch, std::uint64_t size)
    : seed_(seed), epoch_(epoch), size_(size) {
  ENSURE(size >= 1, "a permutation has elements");
  half_bits_ = (static_cast<std::uint32_t>(std::bit_width(size - 1)) + 1) / 2;
}

std::uint64_t KeyedPermutation::feistel(std::uint64_t index) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = index >> half_bits_;
  std::uint64_t right = index & mask;
  for (std::uint32_t round = 0; round < kFeistelRounds; ++round) {
    const std::uint64_t mixed = left ^ (word(seed_, epoch_, round, static_cast<std::uint32_t>(right)) & mask);
    left = right;
    right = mixed;
  }
  return left << half_bits_ | right;
}

std::uint64_t KeyedPermutation::operator()(std::uint64_t index) const {
  ENSURE(index < size_, "an index below the permutation's size");
  // The network permutes a power of two below 4 x size: on average fewer than four turns lead back below size.
  do index = feistel(index);
  while (index >= size_);
  return index;
}

OrderConfig order_config(const Config& config, std::uint64_t train_tokens) {
  return OrderConfig{.seed = config.run.seed,
                     .context = static_cast<std::uint64_t>(config.model.context),
                     .sequences = static_cast<std::uint64_t>(config.batch.sequences),
                     .microbatch = static_cast<std::uint64_t>(config.batch.microbatch),
                     .train_tokens = train_tokens};
}

Order::Order(const OrderConfig& config) : config_(config) {
  ENSURE(config.context >= 1 && config.context <= 0xFFFFFFFFU, "a context has tokens, fewer than 2^32");
  ENSURE(config.microbatch >= 1 && config.sequences >= 1, "a step has sequences");
  ENSURE(config.sequences % config.microbatch == 0, "microbatches divide a step");
  ENSURE(config.train_tokens / 2 >= config.context, "the training tokens hold a window at every shift");
  windows_ = (config.train_tokens - config.context) / config.context;
}

std::uint64_t Order::shift(std::uint64_t epoch) const {
  return word(config_.seed, epoch, kShiftPurpose, 0) * config_.context >> 32U;
}

std::uint64_t Order::offset(std::uint64_t sequence_number) const {
  const std::uint64_t epoch = sequence_number / windows_;
  const KeyedPermutation permutation(config_.seed, epoch, windows_);
  return shift(epoch) + permutation(sequence_number % windows_) * config_.context;
}

std::vector<std::uint64_t> Order::offsets(StepId step, MicrobatchId microbatch) const {
  ENSURE(microbatch.value < microbatches_per_step(), "a microbatch of the step");
  const std::uint64_t first = step.value * config_.sequences + microbatch.value * config_.microbatch;
  std::vector<std::uint64_t> offsets;
  offsets.reserve(config_.microbatch);
  for (std::uint64_t k = 0; k < config_.microbatch; ++k) offsets.push_back(offset(first + k));
  return offsets;
}

}  // namespace shoal
