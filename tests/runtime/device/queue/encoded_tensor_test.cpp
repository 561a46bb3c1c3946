// Values that a device encodes: the bytes that the processor's codec gives, read in place or on the host, by torch's
// operators and by our kernels.
#include "runtime/device/queue/encoded_tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>

#include <ATen/ops/empty.h>

#include "runtime/device/cuda/math/kernel_math.h"
#include "runtime/device/host_tensor.h"
#include "runtime/sync/wire/wire_codec.h"
#include "tests/runtime/device/queue/fake_queue.h"
#include "tests/runtime/sync/random_floats.h"

namespace shoal::encoded_tensor_test {
namespace {

constexpr WireFormat kFormats[] = {WireFormat::kBf16, WireFormat::kInt8, WireFormat::kE3m0};
// One value, whose encoding is larger than it is; an odd one; whole blocks; a block that is not whole.
constexpr std::size_t kCounts[] = {1, 257, 512, 700};

struct Given {
  std::shared_ptr<FakeQueue> queue = std::make_shared<FakeQueue>();
  std::shared_ptr<const DeviceMath> math;
  std::shared_ptr<EncodedTensor> tensor;

  Given(bool by_kernels, WireFormat format, const std::vector<float>& values)
      : math(by_kernels ? std::shared_ptr<const DeviceMath>(make_kernel_math(queue)) : torch_math()) {
    const WireShape shape{format, values.size()};
    const auto room = static_cast<std::int64_t>(DeviceMath::room_of(shape));
    DeviceMath::EncodedValues into{shape, at::empty({room}, at::kByte)};
    math->encode(borrow(blob_of(values)), into);
    tensor = std::make_shared<EncodedTensor>(std::move(into), std::vector{static_cast<std::int64_t>(values.size())},
                                             EncodedTensor::Way{queue->mark(), queue->beside()});
  }
  [[nodiscard]] TensorBlob read_in_place() const {
    const at::Tensor plain = at::empty({static_cast<std::int64_t>(tensor->values().shape.count)}, at::kFloat);
    math->decode(tensor->values(), plain);
    return to_blob(plain);
  }
};

TensorBlob decoded(const TensorBlob& sent, WireFormat format, std::size_t count) {
  std::vector<float> values(count);
  EXPECT_TRUE(decode_values(sent, format, values).ok());
  return blob_of(values);
}

class DeviceEncodes : public testing::TestWithParam<bool> {};

TEST_P(DeviceEncodes, TheBytesOfTheProcessor) {
  for (const WireFormat format : kFormats) {
    for (const std::size_t count : kCounts) {
      const std::vector<float> values = gaussian_values(count, count);
      const Given given(GetParam(), format, values);
      const TensorBlob wanted = *encode_values(format, values);
      const TensorBlob sent = given.tensor->to_host();
      EXPECT_EQ(sent, wanted) << count;
      EXPECT_EQ(given.tensor->byte_count(), sent.byte_count());
      EXPECT_EQ(given.read_in_place(), decoded(wanted, format, count)) << count;
      EXPECT_EQ(given.read_in_place() == blob_of(values), count == 1 && format == WireFormat::kInt8)
          << "control: it rounds, all but a block's largest value";
      std::vector<float> others = values;
      others.back() = -2 * others.back() + 1;
      EXPECT_FALSE(Given(GetParam(), format, others).tensor->to_host() == wanted) << "control";
    }
  }
}

TEST_P(DeviceEncodes, WhatNoFormatCarriesComesAsItIs) {
  for (const WireFormat format : kFormats) {
    for (const std::size_t count : kCounts) {
      std::vector<float> values = gaussian_values(count, count);
      values.back() = -0x1p100F;
      EXPECT_EQ(Given(GetParam(), format, values).tensor->to_host().dtype, DType::kUint8)
          << "control: it is the largest";
      for (const float beyond : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                                 std::nextafter(0x1p100F, HUGE_VALF)}) {
        values.back() = beyond;
        const Given given(GetParam(), format, values);
        EXPECT_EQ(given.tensor->to_host(), blob_of(values)) << beyond;
        EXPECT_EQ(given.read_in_place(), blob_of(values)) << beyond;
        EXPECT_EQ(given.tensor->to_host(), blob_of(values)) << "a second reader, too";
      }
    }
  }
}

// Its bytes alone cross to the host, behind its mark.
TEST_P(DeviceEncodes, OneCopyAsLongAsAnybodyHoldsIt) {
  const Given given(GetParam(), WireFormat::kInt8, gaussian_values(1, 512));
  EXPECT_FALSE(given.tensor->is_ready());
  TensorBlob sent = given.tensor->to_host();
  const int waits = *given.queue->waits;
  EXPECT_EQ(given.tensor->to_host().bytes, sent.bytes);
  EXPECT_EQ(*given.queue->waits, waits) << "the copy is there";
  sent = {};
  static_cast<void>(given.tensor->to_host());
  EXPECT_GT(*given.queue->waits, waits) << "control: nobody held it";
  given.queue->reach_all();
  EXPECT_TRUE(given.tensor->is_ready());
}

INSTANTIATE_TEST_SUITE_P(TorchAndKernels, DeviceEncodes, testing::Bool());

}  // namespace
}  // namespace shoal::encoded_tensor_test
