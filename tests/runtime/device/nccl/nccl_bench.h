// The tests' NCCL in a folder of its own, where a test plants faults; and members of one sum, polled in one thread,
// as whatever drives each of them would do it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/device/nccl/nccl_session.h"
#include "tests/support/nccl/planted.h"

namespace shoal {

extern const std::string kTestsNccl;  // the path of the tests' library

class PlantedFolder {
 public:
  PlantedFolder() {
    std::string made = (std::filesystem::temp_directory_path() / "shoal-nccl-XXXXXX").string();
    folder_ = ::mkdtemp(made.data());
    ::setenv(planted::kVariable, folder_.c_str(), 1);
  }
  ~PlantedFolder() {
    ::unsetenv(planted::kVariable);
    std::filesystem::remove_all(folder_);
  }
  PlantedFolder(const PlantedFolder&) = delete;
  PlantedFolder& operator=(const PlantedFolder&) = delete;

  // Lines that the library has written: "communicator", "sum".
  [[nodiscard]] long count(const std::string& word) const {
    std::ifstream log(folder_ + "/sums.log");
    long found = 0;
    for (std::string line; std::getline(log, line);) found += line == word ? 1 : 0;
    return found;
  }

 private:
  std::string folder_;
};

inline std::shared_ptr<const NcclLibrary> tests_library() {
  auto library = open_nccl(kTestsNccl);
  ENSURE(library.ok(), library.failure().message);
  return *library;
}

// Calls `look` until it holds, for a minute.
inline bool comes_true(const std::function<bool()>& look) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < end) {
    if (look()) return true;
    std::this_thread::yield();
  }
  return false;
}

inline OrderId order_of(std::uint32_t epoch) {
  return OrderId{RunId{7}, Branch{0}, Term{1}, StageId{0}, StepId{3}, Epoch{Incarnation{9}, epoch}, {}};
}

template <class Value>
TensorBlob blob_of(const std::vector<Value>& values) {
  auto bytes = std::make_shared<AlignedBuffer>(values.size() * sizeof(Value));
  std::memcpy(bytes->data(), values.data(), bytes->size());
  const auto type = std::is_same_v<Value, float> ? DType::kFloat32 : DType::kInt64;
  return {type, {static_cast<std::int64_t>(values.size())}, std::move(bytes)};
}

// Contributions of `count` values each, of which no bits are special.
inline std::vector<TensorBlob> random_integers(std::uint32_t members, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<TensorBlob> contributions;
  for (std::uint32_t member = 0; member < members; ++member) {
    std::vector<std::int64_t> values(count);
    for (auto& value : values) value = static_cast<std::int64_t>(random());
    contributions.push_back(blob_of(values));
  }
  return contributions;
}

// All members of a communicator. The library's own threads do the work.
class NcclMembers {
 public:
  explicit NcclMembers(std::uint32_t count) {
    const auto library = tests_library();
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      sessions_.push_back(std::make_unique<NcclSession>(library, make_host_memory(library)));
    }
    news_.resize(count);
  }

  // In `epoch`, on the communicator of epoch `communicator`. The first member's id goes to the others.
  void begin(std::uint32_t epoch, std::uint32_t communicator, const std::vector<TensorBlob>& contributions) {
    CollectiveSum sum;
    sum.order = order_of(epoch);
    sum.communicator = order_of(communicator).epoch;
    sum.size = size();
    for (std::uint32_t rank = 0; rank < size(); ++rank) {
      sum.rank = rank;
      sum.contribution = contributions[rank];
      for (const CollectiveNews& news : sessions_[rank]->take(sum)) {
        if (const auto* made = std::get_if<CollectiveIdMade>(&news)) sum.id = made->id;
        if (!std::holds_alternative<CollectiveIdMade>(news)) news_[rank].push_back(news);
      }
    }
  }
  void poll() {
    for (std::uint32_t rank = 0; rank < size(); ++rank) {
      for (CollectiveNews& news : sessions_[rank]->poll()) news_[rank].push_back(std::move(news));
    }
  }
  // Until every member has told something.
  [[nodiscard]] bool settle() {
    return comes_true([this] {
      poll();
      return std::ranges::none_of(news_, [](const auto& all) { return all.empty(); });
    });
  }
  // Returns what a member told last, as a sum; nothing where it failed.
  [[nodiscard]] TensorBlob take_sum(std::uint32_t rank) {
    const auto all = std::exchange(news_[rank], {});
    const auto* summed = all.empty() ? nullptr : std::get_if<CollectiveSummed>(&all.back());
    return summed == nullptr ? TensorBlob{} : summed->sum;
  }
  [[nodiscard]] std::string take_failure(std::uint32_t rank) {
    const auto all = std::exchange(news_[rank], {});
    const auto* failed = all.empty() ? nullptr : std::get_if<CollectiveFailed>(&all.back());
    return failed == nullptr ? std::string() : failed->reason;
  }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(sessions_.size()); }
  [[nodiscard]] NcclSession& at(std::uint32_t rank) { return *sessions_[rank]; }
  void end(std::uint32_t rank) { sessions_[rank].reset(); }

 private:
  std::vector<std::unique_ptr<NcclSession>> sessions_;
  std::vector<std::vector<CollectiveNews>> news_;
};

}  // namespace shoal
