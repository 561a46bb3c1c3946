// One launch for the format, and one for values that it does not carry.
#include "runtime/device/cuda/math/wire_kernels.h"

#include "runtime/device/cuda/kernels/wire_codecs.h"
#include "runtime/device/cuda/math/launched.h"

namespace shoal {
namespace {

// Where scales and values of an encoded vector lie.
struct Places {
  std::byte* scales;
  std::byte* values;
};

Places places_in(const DeviceMath::EncodedValues& encoded) {
  auto* begin = static_cast<std::byte*>(encoded.bytes.mutable_data_ptr());
  return {begin + kWireHeaderBytes, begin + codes_at(encoded.shape)};
}

gpu::EncodedInt8 int8_at(const Places& at) {
  return {reinterpret_cast<float*>(at.scales), reinterpret_cast<std::uint8_t*>(at.values)};
}

gpu::EncodedE3m0 e3m0_at(const Places& at) {
  return {reinterpret_cast<std::uint16_t*>(at.scales), reinterpret_cast<std::uint8_t*>(at.values)};
}

std::uint16_t* bf16_at(const Places& at) { return reinterpret_cast<std::uint16_t*>(at.values); }

}  // namespace

void encode_by_kernels(const at::Tensor& values, const DeviceMath::EncodedValues& into, gpu::Stream stream) {
  const auto* from = read_from<float>(values);
  const std::size_t count = into.shape.count;
  auto* largest = written_to<std::uint32_t>(into.largest);
  const Places to = places_in(into);
  into.largest.zero_();
  switch (into.shape.format) {
    case WireFormat::kFp32: ENSURE(false, "values as they are need no encoding"); break;
    case WireFormat::kBf16:
      check_launched(gpu::encode_bf16(from, count, bf16_at(to), largest, stream), "encode_bf16");
      break;
    case WireFormat::kInt8:
      check_launched(gpu::encode_int8(from, count, int8_at(to), largest, stream), "encode_int8");
      break;
    case WireFormat::kE3m0:
      check_launched(gpu::encode_e3m0(from, count, e3m0_at(to), largest, stream), "encode_e3m0");
      break;
  }
  auto* as_they_are = written_to<float>(into.bytes);
  check_launched(gpu::copy_uncarried(largest, from, count, as_they_are, stream), "copy_uncarried");
}

void decode_by_kernels(const DeviceMath::EncodedValues& from, const at::Tensor& values, gpu::Stream stream) {
  auto* to = written_to<float>(values);
  const std::size_t count = from.shape.count;
  const Places at = places_in(from);
  switch (from.shape.format) {
    case WireFormat::kFp32: ENSURE(false, "values as they are need no decoding"); break;
    case WireFormat::kBf16: check_launched(gpu::decode_bf16(bf16_at(at), count, to, stream), "decode_bf16"); break;
    case WireFormat::kInt8: check_launched(gpu::decode_int8(int8_at(at), count, to, stream), "decode_int8"); break;
    case WireFormat::kE3m0: check_launched(gpu::decode_e3m0(e3m0_at(at), count, to, stream), "decode_e3m0"); break;
  }
  if (!from.largest.defined()) return;
  const auto* as_they_are = read_from<float>(from.bytes);
  check_launched(gpu::copy_uncarried(read_from<std::uint32_t>(from.largest), as_they_are, count, to, stream),
                 "copy_uncarried");
}

}  // namespace shoal
