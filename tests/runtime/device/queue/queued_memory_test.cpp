// The device's side of a sum by a library: what is handed to it, and when its end is believed. The queue is a fake one.
#include "runtime/device/queue/queued_memory.h"

#include <gtest/gtest.h>

#include <cstring>

#include "runtime/device/queue/queued_tensor.h"
#include "tests/runtime/device/queue/fake_queue.h"

#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>

namespace shoal::queued_memory_test {
namespace {

// Its stream has a handle, unless that fails.
class QueueOfStream final : public FakeQueue {
 public:
  [[nodiscard]] CUstream_st* stream() const override {
    TORCH_CHECK(!fails, "a planted failure of the device");
    return handle;
  }

  CUstream_st* handle = reinterpret_cast<CUstream_st*>(0x40);
  bool fails = false;
};

TensorBlob host_values() {
  auto bytes = std::make_shared<AlignedBuffer>(3 * sizeof(std::int64_t));
  const std::int64_t values[] = {1, 2, 3};
  std::memcpy(bytes->data(), values, sizeof values);
  return {DType::kInt64, {3}, std::move(bytes)};
}

struct Bed {
  std::shared_ptr<QueueOfStream> queue = std::make_shared<QueueOfStream>();
  std::unique_ptr<CollectiveMemory> memory = make_queued_memory(queue);
};

TEST(QueuedMemory, ASumIsDoneWhenItsMarkIsReached) {
  Bed bed;
  const auto placed = bed.memory->place(host_values());
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(placed->count, 3U);
  EXPECT_EQ(placed->stream, bed.queue->handle);
  std::int64_t sums[] = {10, 20, 30};
  EXPECT_EQ(std::memcmp(placed->from, host_values().bytes->data(), sizeof sums), 0);
  std::memcpy(placed->to, sums, sizeof sums);  // plays the library
  ASSERT_TRUE(bed.memory->queued().ok());
  EXPECT_FALSE(*bed.memory->is_done());
  bed.queue->reach_all();
  EXPECT_TRUE(*bed.memory->is_done());
  EXPECT_EQ(*bed.queue->waits, 0) << "nothing waits";
  const TensorBlob sum = bed.memory->take_sum();
  ASSERT_NE(sum.resident, nullptr);
  EXPECT_EQ(sum.dtype, DType::kInt64);
  EXPECT_EQ(std::memcmp(sum.resident->to_host().bytes->data(), sums, sizeof sums), 0);
}

TEST(QueuedMemory, ReadsAContributionOnItsDeviceWhereItIs) {
  Bed bed;
  const at::Tensor values = at::ones({4}, at::kFloat);
  const auto blob = resident_blob(values, bed.queue->mark(), bed.queue);
  const auto placed = bed.memory->place(blob);
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(placed->from, values.const_data_ptr());
  EXPECT_NE(placed->to, placed->from) << "a contribution is never written";
  EXPECT_EQ(bed.queue->followed, 1) << "behind what computes it";
}

TEST(QueuedMemory, SendsAContributionThatHasLeftItsDevice) {
  Bed bed;
  const at::Tensor values = at::ones({4}, at::kFloat);
  const auto blob = resident_blob(values, bed.queue->mark(), bed.queue);
  dynamic_cast<const QueuedTensor&>(*blob.resident).leave_device();
  const int followed = bed.queue->followed;  // by the copy
  const auto placed = bed.memory->place(blob);
  ASSERT_TRUE(placed.ok()) << placed.failure().message;
  ASSERT_EQ(placed->count, 4U);
  EXPECT_EQ(std::memcmp(placed->from, values.const_data_ptr(), values.nbytes()), 0);
  EXPECT_NE(placed->from, values.const_data_ptr()) << "memory that went back";
  EXPECT_EQ(bed.queue->followed, followed) << "what is on the host is computed";
}

TEST(QueuedMemory, WhatTorchThrowsIsTheSumsFailure) {
  Bed bed;
  bed.queue->fails = true;
  const auto placed = bed.memory->place(host_values());
  ASSERT_FALSE(placed.ok());
  EXPECT_NE(placed.failure().message.find("planted"), std::string::npos);
  bed.queue->fails = false;
  EXPECT_TRUE(bed.memory->place(host_values()).ok()) << "control";
}

}  // namespace
}  // namespace shoal::queued_memory_test
