// NVIDIA's NCCL on a GPU: one rank through the whole path, and what is left where a sum or a communicator is given up.
// What needs a second GPU is not here. Skipped, with the driver's sentence, where there is no GPU. Lines that begin
// with "nccl:" are figures and sentences for the table of `run`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <random>
#include <set>

#include "runtime/device/nccl/nccl_runner.h"
#include "runtime/device/nccl/nccl_session.h"
#include "runtime/device/plugin/load_plugin.h"
#include "runtime/device/queue/queued_memory.h"
#include "runtime/device/queue/queued_tensor.h"
#include "runtime/device/queue/stream_queue.h"
#include "runtime/device/torch_device.h"
#include "runtime/plan/resources/device_fit.h"
#include "runtime/sync/reduction.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/rand.h>

namespace shoal::nccl_test {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;
using Stopwatch = std::chrono::steady_clock;

constexpr std::size_t kBytes = std::size_t{64} << 20U;

double milliseconds_since(Stopwatch::time_point start) {
  return std::chrono::duration<double, std::milli>(Stopwatch::now() - start).count();
}

OrderId order(std::uint32_t epoch) {
  return {RunId{7}, Branch{0}, Term{1}, StageId{0}, StepId{3}, Epoch{Incarnation{9}, epoch}, {}};
}

CollectiveSum sum_of(TensorBlob values, std::uint32_t epoch, std::uint32_t communicator, std::uint32_t size = 1) {
  return {order(epoch), order(communicator).epoch, 0, size, {}, std::move(values)};
}

// Bits of all kinds: int64 of every size, float32 with numbers that are too small to be normal.
TensorBlob random_values(DType type, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  auto bytes = std::make_shared<AlignedBuffer>(kBytes);
  for (std::size_t at = 0; at < kBytes; at += sizeof(std::uint64_t)) {
    std::uint64_t word = random();
    if (type == DType::kFloat32) word &= 0xbfffffffbfffffffULL;  // none is infinite or not a number
    std::memcpy(bytes->data() + at, &word, sizeof word);
  }
  return {type, {static_cast<std::int64_t>(kBytes / size_of(type))}, std::move(bytes)};
}

// Entries of a folder under /proc/self: threads, open files.
long entries_of(const char* folder) {
  const auto all = std::filesystem::directory_iterator(std::string("/proc/self/") + folder);
  return std::distance(begin(all), end(all));
}

// A member with a thread of its own, as a stage has it.
class Member {
 public:
  Member(std::shared_ptr<const NcclLibrary> library, std::function<std::unique_ptr<CollectiveMemory>()> make_memory) {
    NcclRunnerSettings settings;
    settings.library = std::move(library);
    settings.make_memory = std::move(make_memory);
    settings.tell = [this](CollectiveNews news) {
      const std::lock_guard lock(mutex_);
      news_.push_back(std::move(news));
      told_.notify_all();
    };
    settings.end_process = [](const std::string& reason) { ADD_FAILURE() << reason; };
    runner_ = run_nccl(std::move(settings));
  }

  // Nothing: it failed, or did not end within half a minute.
  [[nodiscard]] std::optional<TensorBlob> sum(CollectiveOrder order) {
    runner_->hand_in(std::move(order));
    std::unique_lock lock(mutex_);
    while (told_.wait_for(lock, 30s, [this] { return !news_.empty(); })) {
      const CollectiveNews news = std::move(news_.front());
      news_.pop_front();
      if (const auto* failed = std::get_if<CollectiveFailed>(&news)) ADD_FAILURE() << failed->reason;
      if (const auto* summed = std::get_if<CollectiveSummed>(&news)) return summed->sum;
      if (!std::holds_alternative<CollectiveIdMade>(news)) return std::nullopt;
    }
    ADD_FAILURE() << "nothing was heard of the sum";
    return std::nullopt;
  }

 private:
  std::mutex mutex_;
  std::condition_variable told_;
  std::deque<CollectiveNews> news_;
  std::unique_ptr<CollectiveRunner> runner_;  // last: its threads use the others
};

class GpuNccl : public testing::Test {
 protected:
  void SetUp() override {
    const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
    static const Status ready = prepare_device("cuda:0", folder);
    if (!ready) GTEST_SKIP() << ready.failure().message;
    const auto opened = open_nccl();
    ASSERT_TRUE(opened.ok()) << opened.failure().message;
    library = *opened;
    producer = make_stream_queue(torch_device("cuda:0"));
  }

  static std::unique_ptr<CollectiveMemory> memory() {
    return make_queued_memory(make_stream_queue(torch_device("cuda:0")));
  }
  [[nodiscard]] TensorBlob on_device(const TensorBlob& host) const {
    const auto turn = producer->enter();
    const auto type = host.dtype == DType::kInt64 ? at::kLong : at::kFloat;
    const at::Tensor values = at::from_blob(const_cast<std::byte*>(host.bytes->data()), host.shape, type);
    return resident_blob(values.to(producer->device()), producer->mark(), producer->beside());
  }
  // Values that come after about a second of the device's work.
  [[nodiscard]] TensorBlob late_on_device(const TensorBlob& host) const {
    const TensorBlob blob = on_device(host);
    const auto& queued = dynamic_cast<const QueuedTensor&>(*blob.resident);
    const auto turn = producer->enter();
    const at::Tensor large = at::rand({8192, 8192}, at::TensorOptions().device(producer->device()));
    for (int product = 0; product < 60; ++product) static_cast<void>(at::mm(large, large));
    return resident_blob(queued.values(), producer->mark(), producer->beside());
  }
  // What came of a sum, as a sentence: none where it is still under way after that time.
  static std::string end_of(std::vector<NcclSession*> sessions, std::chrono::milliseconds time) {
    const auto end = Stopwatch::now() + time;
    while (Stopwatch::now() < end) {
      for (NcclSession* session : sessions) {
        for (const CollectiveNews& news : session->poll()) {
          if (const auto* failed = std::get_if<CollectiveFailed>(&news)) return failed->reason;
          if (std::holds_alternative<CollectiveSummed>(news)) return "summed";
        }
      }
    }
    return {};
  }

  std::shared_ptr<const NcclLibrary> library;
  std::shared_ptr<DeviceQueue> producer;
};

TEST_F(GpuNccl, IsTheCopyThatTorchHasLoaded) {
  std::set<std::string> copies;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto path = line.find('/');
    if (path != std::string::npos && line.find("libnccl.so") != std::string::npos) copies.insert(line.substr(path));
  }
  ASSERT_EQ(copies.size(), 1U);
  std::cout << "nccl: " << nccl_version_text(library->version) << ", " << *copies.begin() << "\n";
  EXPECT_FALSE(library->sums_host_memory());
}

TEST_F(GpuNccl, OneRankHasTheBitsOfTheRing) {
  Member member(library, memory);
  std::uint32_t epoch = 1;
  for (const DType type : {DType::kInt64, DType::kFloat32}) {
    const TensorBlob values = random_values(type, 1);
    const auto ring = make_reduction(SyncBackend::kRing, {order(1), {Incarnation{1}}, Incarnation{1}}, values);
    ASSERT_TRUE(ring.ok());
    static_cast<void>((*ring)->begin());
    const std::uint32_t communicator = epoch;
    for (const char* what : {"made", "kept"}) {
      const TensorBlob contribution = on_device(values);
      const auto start = Stopwatch::now();
      const auto sum = member.sum(sum_of(contribution, epoch++, communicator));
      std::cout << "nccl: 64 MiB by a communicator that was " << what << ": " << milliseconds_since(start) << " ms\n";
      ASSERT_TRUE(sum && sum->resident);
      EXPECT_TRUE(on_host(*sum) == (*ring)->sum());
      EXPECT_FALSE(on_host(*sum) == random_values(type, 2)) << "control";
      EXPECT_TRUE(on_host(contribution) == values) << "a contribution is never written";
    }
  }
}

// The device's memory that a communicator took, without what torch allocates; the card's free memory tells it, so
// no other program may use the card meanwhile. With one rank it has no peers to buffer
// for, so this is less than what is planned for several.
TEST_F(GpuNccl, ACommunicatorsMemoryIsPlanned) {
  const TensorBlob values = random_values(DType::kInt64, 7);
  const auto free_bytes = [] { return static_cast<double>(device_plugin()->memory(0)->free_bytes); };
  NcclSession session(library, memory());
  const TensorBlob contribution = on_device(values);
  const double before = free_bytes();
  static_cast<void>(session.take(sum_of(contribution, 1, 1)));
  ASSERT_EQ(end_of({&session}, 30s), "summed");
  const double took = before - free_bytes();
  std::cout << "nccl: a communicator of one rank took " << took / (1 << 20) << " MiB of the device, "
            << kLoneCommunicatorBytes / (1 << 20) << " MiB are planned for one\n";
  EXPECT_GE(took, 0) << "another program gave memory of the card back meanwhile: run this one alone";
  EXPECT_LE(took, static_cast<double>(kLoneCommunicatorBytes + kCommunicatorBuffers));
}

TEST_F(GpuNccl, TakesAContributionOfTheHost) {
  Member member(library, memory);
  const TensorBlob values = random_values(DType::kInt64, 3);
  const auto sum = member.sum(sum_of(values, 1, 1));
  ASSERT_TRUE(sum);
  EXPECT_TRUE(on_host(*sum) == values);
}

TEST_F(GpuNccl, ASumIsAbortedInItsMiddle) {
  const TensorBlob values = random_values(DType::kInt64, 4);
  NcclSession session(library, memory());
  static_cast<void>(session.take(sum_of(on_device(values), 1, 1)));
  ASSERT_EQ(end_of({&session}, 30s), "summed");
  static_cast<void>(session.take(sum_of(late_on_device(values), 2, 1)));
  ASSERT_EQ(end_of({&session}, 200ms), "");
  ASSERT_TRUE(session.is_busy());
  const auto start = Stopwatch::now();
  static_cast<void>(session.take(CollectiveDrop{}));
  std::cout << "nccl: a sum under way was aborted in " << milliseconds_since(start) << " ms\n";
  EXPECT_FALSE(session.is_busy());
  EXPECT_FALSE(session.has_communicator());
  static_cast<void>(session.take(sum_of(on_device(values), 3, 3)));
  EXPECT_EQ(end_of({&session}, 30s), "summed");
}

// The other of two ranks never comes: nothing is heard until the member is told to drop it. NCCL 2.28.9 leaves a thread
// and three files behind each time, so a process gives up only so many (given_up_joins.h).
TEST_F(GpuNccl, AnInitialisationThatNobodyJoinsIsAborted) {
  const TensorBlob values = on_device(random_values(DType::kInt64, 5));
  NcclSession session(library, memory());
  long threads = entries_of("task");
  long files = entries_of("fd");
  for (std::uint32_t epoch = 1; epoch <= 4; ++epoch) {
    static_cast<void>(session.take(sum_of(values, epoch, epoch, 2)));
    EXPECT_EQ(end_of({&session}, 1s), "") << "it waits for the other";
    EXPECT_TRUE(session.is_busy());
    const auto start = Stopwatch::now();
    static_cast<void>(session.take(CollectiveDrop{}));
    const double took = milliseconds_since(start);
    EXPECT_FALSE(session.has_communicator());
    EXPECT_LT(took, 10'000);
    std::cout << "nccl: an initialisation was aborted in " << took << " ms; " << entries_of("task") - threads
              << " more threads, " << entries_of("fd") - files << " more files\n";
    threads = entries_of("task");
    files = entries_of("fd");
  }
  static_cast<void>(session.take(sum_of(values, 9, 9)));
  EXPECT_EQ(end_of({&session}, 30s), "summed") << "a communicator of one rank, afterwards";
}

TEST_F(GpuNccl, TwoRanksOnOneGpuAreRefused) {
  const TensorBlob values = on_device(random_values(DType::kInt64, 6));
  NcclSession first(library, memory());
  NcclSession second(library, memory());
  CollectiveSum sum = sum_of(values, 1, 1, 2);
  for (const CollectiveNews& news : first.take(sum)) {
    if (const auto* made = std::get_if<CollectiveIdMade>(&news)) sum.id = made->id;
  }
  ASSERT_EQ(sum.id.size(), kCollectiveIdBytes);
  sum.rank = 1;
  static_cast<void>(second.take(sum));
  const auto start = Stopwatch::now();
  const std::string reason = end_of({&first, &second}, 30s);
  std::cout << "nccl: two ranks on one GPU after " << milliseconds_since(start) << " ms: " << reason << "\n";
  EXPECT_THAT(reason, HasSubstr("Duplicate GPU detected"));
  static_cast<void>(first.take(CollectiveDrop{}));
  static_cast<void>(second.take(sum_of(values, 2, 2)));
  EXPECT_EQ(end_of({&second}, 30s), "summed") << "alone it is not";
}

}  // namespace
}  // namespace shoal::nccl_test
