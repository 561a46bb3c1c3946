// Elements as they are in one pass per sum; encoded ones over scratch memory that stays in the cache.
#include "runtime/sync/wire/payload.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "runtime/base/ensure.h"
#include "runtime/sync/wire/wire_codec.h"
#include "runtime/sync/wire/wire_kernels.h"

namespace shoal {
namespace {

// out[i] = a[i] + b[i]; out may be b. Unsigned arithmetic for integers: wrapping is defined, and exact sums never need
// it.
template <class T>
void add_values(const std::byte* a, const std::byte* b, std::byte* out, std::size_t byte_count) {
  for (std::size_t at = 0; at < byte_count; at += sizeof(T)) {
    T left{};
    T right{};
    std::memcpy(&left, a + at, sizeof(T));
    std::memcpy(&right, b + at, sizeof(T));
    const T total = left + right;
    std::memcpy(out + at, &total, sizeof(T));
  }
}

TensorBlob make_blob(DType dtype, std::shared_ptr<const AlignedBuffer> bytes) {
  const auto element_count = static_cast<std::int64_t>(bytes->size() / size_of(dtype));
  return TensorBlob{dtype, {element_count}, std::move(bytes)};
}

template <class T>
class ElementPayload final : public Payload {
 public:
  explicit ElementPayload(DType dtype) : dtype_(dtype) {}

  [[nodiscard]] bool is_lossy() const override { return false; }
  [[nodiscard]] bool fits(const TensorBlob& values, std::size_t byte_count) const override {
    return values.dtype == dtype_ && values.byte_count() == byte_count;
  }
  [[nodiscard]] std::optional<TensorBlob> pack(PlainBytes plain, std::span<float> /*lost*/) override {
    auto bytes = std::make_shared<AlignedBuffer>(plain.size());
    std::memcpy(bytes->data(), plain.data(), plain.size());
    return make_blob(dtype_, std::move(bytes));
  }
  void unpack(const TensorBlob& values, std::span<std::byte> plain) override {
    std::memcpy(plain.data(), values.bytes->data(), plain.size());
  }
  void add(PlainBytes more, std::span<std::byte> total) override {
    add_values<T>(more.data(), total.data(), total.data(), total.size());
  }
  [[nodiscard]] std::optional<TensorBlob> combine(const TensorBlob& values, PlainBytes own,
                                                  std::span<float> /*lost*/) override {
    auto bytes = std::make_shared<AlignedBuffer>(own.size());
    add_values<T>(values.bytes->data(), own.data(), bytes->data(), own.size());
    return make_blob(dtype_, std::move(bytes));
  }

 private:
  DType dtype_;
};

class EncodedPayload final : public Payload {
 public:
  explicit EncodedPayload(WireFormat format) : format_(format) {}

  [[nodiscard]] bool is_lossy() const override { return true; }
  [[nodiscard]] bool fits(const TensorBlob& values, std::size_t byte_count) const override {
    return check_encoded(values, {format_, byte_count / sizeof(float)}).ok();
  }
  [[nodiscard]] std::optional<TensorBlob> pack(PlainBytes plain, std::span<float> lost) override {
    const std::span values(reinterpret_cast<const float*>(plain.data()), plain.size() / sizeof(float));
    auto packed = encode_values(format_, values);
    if (!packed.ok()) return std::nullopt;
    if (!lost.empty()) {
      sent_.resize(values.size());
      decode_checked(*packed, format_, sent_);
      subtract_floats(values.data(), sent_.data(), lost.data(), values.size());
    }
    return std::move(*packed);
  }
  void unpack(const TensorBlob& values, std::span<std::byte> plain) override {
    decode_checked(values, format_, {reinterpret_cast<float*>(plain.data()), plain.size() / sizeof(float)});
  }
  void add(PlainBytes more, std::span<std::byte> total) override {
    add_floats(reinterpret_cast<const float*>(more.data()), reinterpret_cast<float*>(total.data()),
               total.size() / sizeof(float));
  }
  [[nodiscard]] std::optional<TensorBlob> combine(const TensorBlob& values, PlainBytes own,
                                                  std::span<float> lost) override {
    total_.resize(own.size() / sizeof(float));
    const auto plain = std::as_writable_bytes(std::span(total_));
    unpack(values, plain);
    add(own, plain);
    return pack(plain, lost);
  }

 private:
  WireFormat format_;
  std::vector<float> total_;
  std::vector<float> sent_;
};

}  // namespace

std::unique_ptr<Payload> make_payload(DType dtype, WireFormat wire) {
  ENSURE(dtype == DType::kInt64 || dtype == DType::kFloat32, "sums are int64 or float32");
  if (dtype == DType::kInt64) return std::make_unique<ElementPayload<std::uint64_t>>(dtype);
  if (wire == WireFormat::kFp32) return std::make_unique<ElementPayload<float>>(dtype);
  return std::make_unique<EncodedPayload>(wire);
}

}  // namespace shoal
