// Lets the members of a communicator of tests meet: shared memory that threads and processes map, and a sum in chunks.
//
//   every chunk: all write their own ── all there ──▶ each adds them in the order of ranks ── all have read ──▶ next
//
// Whoever waits looks at the others: one that left, or whose process is gone, is an error of the sum. The last to come
// removes the name, so nothing is left behind where all came.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace shoal {

inline constexpr std::uint32_t kMeetingMembersMax = 8;
inline constexpr std::size_t kMeetingChunk = std::size_t{1} << 16U;

struct MeetingMember {
  std::atomic<std::int32_t> process;  // 0: it has not come
  std::atomic<std::uint32_t> has_left;
  std::atomic<std::uint64_t> written;  // chunks since the beginning
  std::atomic<std::uint64_t> read;
};

struct MeetingPlace {
  std::atomic<std::uint32_t> arrived;
  std::array<MeetingMember, kMeetingMembersMax> members;
  alignas(64) std::array<std::array<std::byte, kMeetingChunk>, kMeetingMembersMax> chunks;
};

enum class MeetingEnd : std::uint8_t { kDone, kStopped, kPeerGone, kFailed };

class Meeting {
 public:
  // Makes the shared memory. Returns its name.
  [[nodiscard]] static std::string make();

  // `stop`: true ends every wait.
  Meeting(std::string name, std::uint32_t rank, std::uint32_t size, std::function<bool()> stop);
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  [[nodiscard]] MeetingEnd join();
  [[nodiscard]] MeetingEnd add_up(const void* from, void* to, std::size_t byte_count, bool is_integer);
  void leave();

 private:
  [[nodiscard]] MeetingEnd wait_until(const std::function<bool()>& holds) const;
  [[nodiscard]] bool is_somebody_gone() const;
  void add_chunk(std::byte* to, std::size_t byte_count, bool is_integer) const;

  std::string name_;
  std::uint32_t rank_;
  std::uint32_t size_;
  std::function<bool()> stop_;
  MeetingPlace* place_ = nullptr;
};

}  // namespace shoal
