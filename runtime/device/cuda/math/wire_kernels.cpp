// One launch for the format, and one for values that it does not carry.
#include "runtime/device/cuda/math/wire_kernels.h"

#include "runtime/device/cuda/kernels/wire_codecs.h"
#include "runtime/device/cuda/math/launched.h"

namespace shoal {
namespace {

// Says what lies where in an encoded vector on a device.
struct Places {
  std::uint32_t* largest;
  float* as_they_are;
  std::byte* scales;
  std::byte* codes;
};

Places places_in(const DeviceMath::EncodedValues& encoded) {
  auto* begin = static_cast<std::byte*>(encoded.bytes.mutable_data_ptr());
  std::byte* const behind = begin + kWireHeaderBytes;
  return {reinterpret_cast<std::uint32_t*>(begin), reinterpret_cast<float*>(behind), behind,
          begin + codes_at(encoded.shape)};
}

gpu::EncodedInt8 int8_at(const Places& at) {
  return {reinterpret_cast<float*>(at.scales), reinterpret_cast<std::uint8_t*>(at.codes)};
}

gpu::EncodedE3m0 e3m0_at(const Places& at) {
  return {reinterpret_cast<std::uint16_t*>(at.scales), reinterpret_cast<std::uint8_t*>(at.codes)};
}

std::uint16_t* bf16_at(const Places& at) { return reinterpret_cast<std::uint16_t*>(at.codes); }

}  // namespace

void encode_by_kernels(const at::Tensor& values, const DeviceMath::EncodedValues& into, gpu::Stream stream) {
  const auto* from = read_from<float>(values);
  const std::size_t count = into.shape.count;
  const Places to = places_in(into);
  into.bytes.narrow(0, 0, kWireHeaderBytes).zero_();
  switch (into.shape.format) {
    case WireFormat::kFp32: ENSURE(false, "values as they are need no encoding"); break;
    case WireFormat::kBf16:
      check_launched(gpu::encode_bf16(from, count, bf16_at(to), to.largest, stream), "encode_bf16");
      break;
    case WireFormat::kInt8:
      check_launched(gpu::encode_int8(from, count, int8_at(to), to.largest, stream), "encode_int8");
      break;
    case WireFormat::kE3m0:
      check_launched(gpu::encode_e3m0(from, count, e3m0_at(to), to.largest, stream), "encode_e3m0");
      break;
  }
  check_launched(gpu::copy_uncarried(to.largest, from, count, to.as_they_are, stream), "copy_uncarried");
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
  check_launched(gpu::copy_uncarried(at.largest, at.as_they_are, count, to, stream), "copy_uncarried");
}

}  // namespace shoal
