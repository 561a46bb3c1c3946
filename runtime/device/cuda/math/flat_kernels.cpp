// Tables go through host memory that copies do not wait for.
#include "runtime/device/cuda/math/flat_kernels.h"

#include <cstring>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "runtime/device/cuda/kernels/block_digest.h"
#include "runtime/device/cuda/kernels/update.h"
#include "runtime/device/cuda/math/launched.h"

namespace shoal {

FlatKernels::FlatKernels(std::shared_ptr<DeviceQueue> queue, const std::vector<FlatSpan>& spans, at::Device device)
    : queue_(std::move(queue)), device_(device) {
  for (const FlatSpan& span : spans) {
    spans_.push_back({.offset = static_cast<std::uint64_t>(span.offset),
                      .count = static_cast<std::uint64_t>(span.count),
                      .copy = static_cast<std::uint64_t>(span.copy)});
  }
  const std::vector<gpu::Chunk> chunks = gpu::chunks_of(spans_);
  chunks_ = chunks.size();
  span_table_ = sent(std::span<const gpu::TensorSpan>(spans_));
  chunk_table_ = sent(std::span<const gpu::Chunk>(chunks));
}

template <class T>
at::Tensor FlatKernels::sent(std::span<const T> values) const {
  const at::Tensor host = queue_->host_memory({static_cast<std::int64_t>(values.size_bytes())}, at::kByte);
  if (!values.empty()) std::memcpy(host.mutable_data_ptr(), values.data(), values.size_bytes());
  return host.to(device_, true);
}

gpu::TensorChunks FlatKernels::all() const {
  return {read_from<gpu::TensorSpan>(span_table_), spans_.size(), read_from<gpu::Chunk>(chunk_table_), chunks_};
}

at::Tensor FlatKernels::add_within(const Addition& into, std::size_t first,
                                   std::span<const at::Tensor> gradients) const {
  std::vector<at::Tensor> dense;
  std::vector<const float*> addresses;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const bool fits = count_of(gradients[i]) == spans_.at(first + i).count;
    ENSURE(fits && gradients[i].scalar_type() == at::kFloat, "a float32 gradient for each element");
    dense.push_back(gradients[i].contiguous());
    addresses.push_back(read_from<float>(dense.back()));
  }
  const std::size_t last = first + gradients.size();
  const std::size_t begin = spans_.at(first).first_chunk;
  const std::size_t end = last == spans_.size() ? chunks_ : spans_[last].first_chunk;
  const at::Tensor table = sent(std::span<const float* const>(addresses));
  const at::Tensor is_bad = at::zeros({static_cast<std::int64_t>(spans_.size())}, table.options().dtype(at::kInt));
  auto* flags = written_to<unsigned>(is_bad);
  const gpu::TensorChunks chunks = gpu::some_of(all(), begin, end - begin);
  const gpu::Gradients of{read_from<const float*>(table), first};
  check_launched(gpu::find_beyond(chunks, of, into.limit, flags, queue_->stream()), "find_beyond");
  const bool is_exact = into.sums.scalar_type() == at::kLong;
  const gpu::ChunkSums sums{into.sums.mutable_data_ptr(), is_exact ? into.fraction_bits : -1, flags};
  check_launched(gpu::accumulate(chunks, of, sums, queue_->stream()), "accumulate");
  return is_bad.narrow(0, static_cast<std::int64_t>(first), static_cast<std::int64_t>(gradients.size())).eq(0);
}

at::Tensor FlatKernels::squared_norms(const at::Tensor& flat) const {
  const auto doubles = flat.options().dtype(at::kDouble);
  const at::Tensor block_sums = at::empty({static_cast<std::int64_t>(chunks_)}, doubles);
  at::Tensor norms = at::empty({static_cast<std::int64_t>(spans_.size())}, doubles);
  check_launched(gpu::squared_norms(all(), read_from<float>(flat), written_to<double>(block_sums),
                                    written_to<double>(norms), queue_->stream()),
                 "squared_norms");
  return norms;
}

at::Tensor FlatKernels::block_values(const at::Tensor& flat) const {
  at::Tensor values = at::empty({static_cast<std::int64_t>(chunks_)}, flat.options().dtype(at::kLong));
  check_launched(gpu::block_values(all(), read_from<float>(flat), written_to<std::uint64_t>(values), queue_->stream()),
                 "block_values");
  return values;
}

void FlatKernels::apply_adamw(std::span<const AdamwCoefficients> coefficients, const AdamwTensors& tensors) const {
  ENSURE(coefficients.size() == spans_.size(), "coefficients of each tensor");
  const at::Tensor table = sent(coefficients);
  const gpu::AdamwArrays arrays{written_to<float>(tensors.weights), written_to<float>(tensors.average),
                                written_to<float>(tensors.average_sq), read_from<float>(tensors.gradient),
                                written_to<gpu::Bf16>(tensors.copy)};
  check_launched(gpu::apply_adamw(all(), read_from<AdamwCoefficients>(table), arrays, queue_->stream()), "apply_adamw");
}

}  // namespace shoal
