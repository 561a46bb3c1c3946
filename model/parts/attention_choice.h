// Which operators of torch's a device other than the processor attends by, and why not faster ones. Pure.
//
// cuDNN's is the fastest where torch's own rule prefers it (sm_90 and sm_100; what the device and its cuDNN have is the
// caller's to say). Its forward repeats its bits and its backward does not; flash attention's backward can, and takes
// what either forward gives: y and the natural logarithms of the rows' sums. Flash attention takes bf16 alone. All of
// them read 16 bytes at once, so that heads of other sizes are padded (padded_heads.h); the memory-efficient operator
// has kernels for every size then, in both precisions.
#pragma once

#include <cstdint>
#include <string_view>

namespace shoal {

enum class AttentionOperator : std::uint8_t { kCudnn, kFlash, kEfficient };

struct AttentionWish {
  bool is_bf16 = false;
  std::int64_t head_size = 0;
  std::int64_t tokens = 0;  // of a sequence
  bool repeats = false;     // bits must
  bool has_cudnn = false;   // the device has the operator, and it was not turned off
};

// Elements of a head as the operators have kernels for it.
[[nodiscard]] constexpr std::int64_t kernel_head_size(bool is_bf16, std::int64_t head_size) {
  const std::int64_t at_once = is_bf16 ? 8 : 4;
  return (head_size + at_once - 1) / at_once * at_once;
}

struct AttentionChoice {
  AttentionOperator forward = AttentionOperator::kCudnn;
  AttentionOperator backward = AttentionOperator::kCudnn;
  std::string_view because;  // empty: both are the fastest
};

[[nodiscard]] constexpr AttentionChoice attention_choice(const AttentionWish& wish) {
  constexpr std::int64_t kCudnnHead = 128;   // at most; torch allows more on some devices, which nobody has tried
  constexpr std::int64_t kCudnnTokens = 64;  // at least
  constexpr std::int64_t kFlashHead = 256;   // at most
  using enum AttentionOperator;
  if (!wish.is_bf16) return {kEfficient, kEfficient, "flash attention takes bf16 alone"};
  const std::int64_t head_size = kernel_head_size(wish.is_bf16, wish.head_size);
  if (head_size > kFlashHead) return {kEfficient, kEfficient, "flash attention takes heads of at most 256 elements"};
  if (!wish.has_cudnn) return {kFlash, kFlash, "cuDNN's is not taken on this device"};
  if (head_size > kCudnnHead) return {kFlash, kFlash, "cuDNN's takes heads of at most 128 elements"};
  if (wish.tokens < kCudnnTokens || wish.tokens % 8 != 0) return {kFlash, kFlash, "cuDNN's takes 64, 72, ... tokens"};
  if (wish.repeats) return {kCudnn, kFlash, "the backward of cuDNN's does not repeat its bits"};
  return {};
}

}  // namespace shoal
