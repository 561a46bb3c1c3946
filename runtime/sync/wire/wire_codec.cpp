// Layout and checks; the loops are in wire_kernels.cpp. Payloads start at a multiple of 64 bytes because blobs do.
#include "runtime/sync/wire/wire_codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/sync/wire/wire_kernels.h"

namespace shoal {
namespace {

static_assert(std::endian::native == std::endian::little, "blobs hold little-endian values");
static_assert(static_cast<int>(WireFormat::kFp32) == 0 && static_cast<int>(WireFormat::kBf16) == 1 &&
                  static_cast<int>(WireFormat::kInt8) == 2 && static_cast<int>(WireFormat::kE3m0) == 3,
              "the numbers of the formats are part of the layout");

constexpr std::array<char, 4> kMagic = {'S', 'W', 'V', '1'};
static_assert(is_carried(magnitude_bits(kWireMagnitudeMax)) && !is_carried(magnitude_bits(kWireMagnitudeMax) + 1));

template <class T>
const T* at(const TensorBlob& blob, std::size_t offset) {
  return reinterpret_cast<const T*>(blob.bytes->data() + offset);
}
template <class T>
T* at(AlignedBuffer& bytes, std::size_t offset) {
  return reinterpret_cast<T*>(bytes.data() + offset);
}

void write_header(const WireShape& shape, AlignedBuffer& bytes) {
  std::memset(bytes.data(), 0, kWireHeaderBytes);
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  bytes.data()[4] = static_cast<std::byte>(shape.format);
  std::memcpy(bytes.data() + 8, &shape.count, sizeof(shape.count));
}

// Gives the largest magnitude.
std::uint32_t write_payload(const WireShape& shape, const float* values, AlignedBuffer& bytes) {
  const std::size_t codes = codes_at(shape);
  switch (shape.format) {
    case WireFormat::kFp32:
      if (shape.count > 0) std::memcpy(bytes.data() + codes, values, shape.count * sizeof(float));
      return largest_magnitude(values, shape.count);
    case WireFormat::kBf16: return encode_bf16(values, at<std::uint16_t>(bytes, codes), shape.count);
    case WireFormat::kInt8:
      return encode_int8(values, at<float>(bytes, kWireHeaderBytes), at<std::uint8_t>(bytes, codes), shape.count);
    case WireFormat::kE3m0:
      return encode_e3m0(values, at<std::uint16_t>(bytes, kWireHeaderBytes), at<std::uint8_t>(bytes, codes),
                         shape.count);
  }
  return 0;
}

Failure refuse_value(std::span<const float> values) {
  const auto bad =
      std::find_if(values.begin(), values.end(), [](float value) { return !is_carried(magnitude_bits(value)); });
  return fail(Error::kInvalidData, compose("value ", bad - values.begin(), " of ", values.size(), " is ", *bad,
                                           ": only numbers up to 2^100 can be sent"));
}

Status refuse(const std::string& why) { return fail(Error::kInvalidData, "an encoded vector is refused: " + why); }

// Scales are compared as unsigned integers: a sign, an infinity or a NaN is above every allowed one.
Status check_payload(const TensorBlob& blob, const WireShape& shape) {
  const std::size_t blocks = wire_blocks(shape.count);
  std::uint32_t largest = 0;
  switch (shape.format) {
    case WireFormat::kFp32: largest = largest_magnitude(at<float>(blob, kWireHeaderBytes), shape.count); break;
    case WireFormat::kBf16:
      largest = largest_magnitude_of_bf16(at<std::uint16_t>(blob, kWireHeaderBytes), shape.count);
      break;
    case WireFormat::kInt8: {
      const auto* scales = at<std::uint32_t>(blob, kWireHeaderBytes);
      if (blocks > 0) largest = *std::max_element(scales, scales + blocks);
      break;
    }
    case WireFormat::kE3m0: {
      const auto* scales = at<std::uint16_t>(blob, kWireHeaderBytes);
      if (blocks > 0) largest = bits_of_bf16(*std::max_element(scales, scales + blocks));
      const auto last = std::to_integer<unsigned>(blob.bytes->data()[blob.byte_count() - 1]);
      if (shape.count % 2 == 1 && last > 15) return refuse("the nibble behind the last value is not 0");
      break;
    }
  }
  if (!is_carried(largest)) return refuse("a scale or a value is no number up to 2^100");
  return Done{};
}

}  // namespace

double bits_per_value(WireFormat format) {
  const WireShape block{format, kWireBlock};
  return 8.0 * static_cast<double>(scale_bytes(block) + code_bytes(block)) / static_cast<double>(kWireBlock);
}

bool are_within(std::span<const float> values, float magnitude_max) {
  return largest_magnitude(values.data(), values.size()) <= magnitude_bits(magnitude_max);
}

Result<TensorBlob> encode_values(WireFormat format, std::span<const float> values) {
  const WireShape shape{format, values.size()};
  auto bytes = std::make_shared<AlignedBuffer>(encoded_bytes(shape));
  if (!is_carried(write_payload(shape, values.data(), *bytes))) return refuse_value(values);
  return encoded_elsewhere(shape, std::move(bytes));
}

TensorBlob encoded_elsewhere(const WireShape& shape, std::shared_ptr<AlignedBuffer> bytes) {
  ENSURE(bytes->size() == encoded_bytes(shape), "a vector of its shape's size");
  write_header(shape, *bytes);
  const auto size = static_cast<std::int64_t>(bytes->size());
  return TensorBlob{DType::kUint8, {size}, std::move(bytes)};
}

Result<WireShape> wire_shape_of(const TensorBlob& blob) {
  if (!blob.has_value() || blob.dtype != DType::kUint8) return refuse("it is not a vector of bytes").failure();
  const std::byte* header = blob.bytes->data();
  const std::size_t size = blob.byte_count();
  if (blob.shape != std::vector<std::int64_t>{static_cast<std::int64_t>(size)} || size < kWireHeaderBytes) {
    return refuse(compose("it has ", size, " bytes")).failure();
  }
  if (std::memcmp(header, kMagic.data(), kMagic.size()) != 0) return refuse("it does not begin with SWV1").failure();
  const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };
  const bool is_padded =
      std::all_of(header + 5, header + 8, is_zero) && std::all_of(header + 16, header + kWireHeaderBytes, is_zero);
  const auto format = std::to_integer<int>(header[4]);
  if (!is_padded || format > static_cast<int>(WireFormat::kE3m0)) return refuse("its header is unknown").failure();
  WireShape shape{static_cast<WireFormat>(format), 0};
  std::memcpy(&shape.count, header + 8, sizeof(shape.count));
  const bool is_possible = shape.count <= 2 * size;  // no format has less than half a byte per value
  if (!is_possible || encoded_bytes(shape) != size) {
    return refuse(compose(size, " bytes do not hold its ", shape.count, " values")).failure();
  }
  return shape;
}

Status check_encoded(const TensorBlob& blob, const WireShape& expected) {
  const auto shape = wire_shape_of(blob);
  if (!shape.ok()) return shape.failure();
  if (*shape != expected) {
    return refuse(compose("format ", static_cast<int>(shape->format), " with ", shape->count, " values, not format ",
                          static_cast<int>(expected.format), " with ", expected.count));
  }
  return check_payload(blob, *shape);
}

Status decode_values(const TensorBlob& blob, WireFormat format, std::span<float> out) {
  const Status checked = check_encoded(blob, {format, out.size()});
  if (checked.ok()) decode_checked(blob, format, out);
  return checked;
}

void decode_checked(const TensorBlob& blob, WireFormat format, std::span<float> out) {
  const WireShape shape{format, out.size()};
  ENSURE(blob.byte_count() == encoded_bytes(shape), "only what was checked is decoded");
  const std::size_t codes = codes_at(shape);
  switch (format) {
    case WireFormat::kFp32:
      if (!out.empty()) std::memcpy(out.data(), blob.bytes->data() + codes, out.size_bytes());
      return;
    case WireFormat::kBf16: return decode_bf16(at<std::uint16_t>(blob, codes), out.data(), out.size());
    case WireFormat::kInt8:
      return decode_int8(at<float>(blob, kWireHeaderBytes), at<std::uint8_t>(blob, codes), out.data(), out.size());
    case WireFormat::kE3m0:
      return decode_e3m0(at<std::uint16_t>(blob, kWireHeaderBytes), at<std::uint8_t>(blob, codes), out.data(),
                         out.size());
  }
}

}  // namespace shoal
