// Eight threads per block of 16 KiB, a lane of XXH3 each; a thread block does 32 of them at once.
#include "runtime/device/cuda/kernels/block_digest.h"

#include "runtime/device/cuda/kernels/chunk_elements.cuh"
#include "runtime/device/cuda/kernels/xxh3.cuh"

namespace shoal::gpu {
namespace {

constexpr unsigned kBlocksAtOnce = kThreads / xxh3::kLanes;
constexpr unsigned kWordsAtOnce = 8;  // loads that a thread has under way
static_assert(xxh3::kStripesPerBlock % kWordsAtOnce == 0);

__device__ constexpr xxh3::LaneWords kWords = xxh3::lane_words();

// The next words of a lane, one of each stripe; 0 beyond the last stripe.
struct LaneStripes {
  std::uint64_t at[kWordsAtOnce];
};

__device__ __forceinline__ LaneStripes load_stripes(const std::uint64_t* words, std::size_t begin,
                                                    std::size_t stripes) {
  LaneStripes loaded;
#pragma unroll
  for (unsigned k = 0; k < kWordsAtOnce; ++k) {
    const std::size_t at = (begin + k) * xxh3::kLanes + threadIdx.x % xxh3::kLanes;
    loaded.at[k] = begin + k < stripes ? words[at] : 0;
  }
  return loaded;
}

// One lane's sum over an input of more than 240 bytes. The lanes of `mask` do the same input. Words are on their way
// while those before them are added: a sum is a chain, and waits for nothing but its own multiplications.
__device__ __forceinline__ std::uint64_t lane_sum(const std::uint64_t* secret, const char* in, std::size_t size,
                                                  unsigned mask) {
  const unsigned lane = threadIdx.x % xxh3::kLanes;
  std::uint64_t sum = kWords.start[lane];
  const auto add_stripe = [&](std::uint64_t word, std::uint64_t key) {
    sum = xxh3::accumulated(sum, word, __shfl_xor_sync(mask, word, 1, xxh3::kLanes), key);
  };
  const std::size_t stripes = (size - 1) / xxh3::kStripeBytes;
  const auto* words = reinterpret_cast<const std::uint64_t*>(in);
  LaneStripes next = load_stripes(words, 0, stripes);
  for (std::size_t begin = 0; begin < stripes; begin += kWordsAtOnce) {
    const LaneStripes loaded = next;
    next = load_stripes(words, begin + kWordsAtOnce, stripes);
    const unsigned within = static_cast<unsigned>(begin % xxh3::kStripesPerBlock);
#pragma unroll
    for (unsigned k = 0; k < kWordsAtOnce; ++k) {
      if (begin + k < stripes) add_stripe(loaded.at[k], secret[within + k + lane]);
    }
    const bool ends_block = within + kWordsAtOnce == xxh3::kStripesPerBlock && begin + kWordsAtOnce <= stripes;
    if (ends_block) sum = xxh3::scrambled(sum, secret[16 + lane]);
  }
  const auto* last = reinterpret_cast<const std::uint32_t*>(in + size - xxh3::kStripeBytes);
  add_stripe(xxh3::read_word(last + 2 * lane), kWords.last[lane]);
  return sum;
}

__device__ __forceinline__ std::uint64_t merged(std::uint64_t sum, std::size_t size, unsigned mask) {
  const unsigned lane = threadIdx.x % xxh3::kLanes;
  const std::uint64_t mixed = sum ^ kWords.merge[lane];
  std::uint64_t hash = xxh3::fold_product(mixed, __shfl_xor_sync(mask, mixed, 1, xxh3::kLanes));
  hash += __shfl_xor_sync(mask, hash, 2, xxh3::kLanes);
  hash += __shfl_xor_sync(mask, hash, 4, xxh3::kLanes);
  return xxh3::avalanche(size * xxh3::kPrime64_1 + hash);
}

// The secret, in shared memory of the block. All its threads call it.
__device__ __forceinline__ const std::uint64_t* shared_secret() {
  __shared__ std::uint64_t secret[24];
  if (threadIdx.x < 24) secret[threadIdx.x] = kWords.stripes[threadIdx.x];
  __syncthreads();
  return secret;
}

__device__ __forceinline__ std::size_t block_of_lanes() {
  return static_cast<std::size_t>(blockIdx.x) * kBlocksAtOnce + threadIdx.x / xxh3::kLanes;
}

// By the lanes of a block.
__device__ __forceinline__ void write_value(const std::uint64_t* secret, const char* in, std::size_t size,
                                            std::uint64_t* value) {
  const bool is_first_lane = threadIdx.x % xxh3::kLanes == 0;
  std::uint64_t hash = 0;
  if (size > xxh3::kShortMost) {
    const unsigned mask = 0xFFU << (threadIdx.x % kWarp / xxh3::kLanes * xxh3::kLanes);
    hash = merged(lane_sum(secret, in, size, mask), size, mask);
  } else if (is_first_lane) {
    hash = xxh3::short_hash(reinterpret_cast<const std::uint32_t*>(in), size);
  }
  if (is_first_lane) *value = hash;
}

__global__ void block_values_kernel(TensorChunks chunks, const float* flat, std::uint64_t* values) {
  const std::uint64_t* secret = shared_secret();
  const std::size_t at = block_of_lanes();
  if (at >= chunks.count) return;
  const ChunkElements elements = elements_of(chunks, chunks.chunks[at]);
  write_value(secret, reinterpret_cast<const char*>(flat + elements.begin), elements.count * sizeof(float),
              values + at);
}

}  // namespace

LaunchError block_values(const TensorChunks& chunks, const float* flat, std::uint64_t* values, Stream stream) {
  if (chunks.count == 0) return kLaunched;
  if (reinterpret_cast<std::uintptr_t>(flat) % 8 != 0) return kRefusedShape;
  const Grid grid = one_block_each(parts_of(chunks.count, kBlocksAtOnce));
  return launch(grid, stream, block_values_kernel, chunks, flat, values);
}

}  // namespace shoal::gpu
