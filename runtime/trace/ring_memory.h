// Memory of a ring's slots: a file that is mapped, RUN/trace/<process>.ring, so that what a killed process recorded and
// nobody had written yet is still there for the reader and for the next life.
//
//   file = header (kRingHeaderBytes: "SHRG", version, bytes of a slot, slots,
//                  wall and steady clock of the life's begin)
//          slot*                                              as they lie in memory; read by the same program only
//
// The file's blocks are taken when it is made: a disk that fills up later cannot hurt. It is removed when its process
// ends in order, or when its events cannot be kept any more. Where it cannot be made, or would leave too little for the
// journal (disk_space.h), memory serves: then the last events of a killed process are lost.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/trace/event.h"

namespace shoal {

struct RingSlot {
  std::atomic<std::uint64_t> turn{0};
  TraceEvent event;
};

// Says to which life of a process a ring belongs: the begin of that life in its trace file.
struct RingOwner {
  std::int64_t wall_ns = 0;
  std::int64_t steady_ns = 0;
  friend bool operator==(const RingOwner&, const RingOwner&) = default;
};

class RingMemory {
 public:
  explicit RingMemory(std::size_t slot_count) : own_(slot_count), slots_(own_) {}
  // path empty, or no file to be had: memory of this process.
  [[nodiscard]] static RingMemory in_file(const std::string& path, std::size_t slot_count, const RingOwner& owner);

  RingMemory(RingMemory&& other) noexcept;
  RingMemory& operator=(RingMemory&&) = delete;
  // Removes the file.
  ~RingMemory();

  [[nodiscard]] std::span<RingSlot> slots() { return slots_; }
  // Removes the file and frees its blocks. The slots are zeros then, and may still be written, by any thread.
  void give_file_back();

 private:
  RingMemory(std::string path, void* mapping, std::size_t bytes, std::size_t slot_count);

  std::vector<RingSlot> own_;
  std::string path_;
  void* mapping_ = nullptr;
  std::size_t bytes_ = 0;
  std::span<RingSlot> slots_;
};

// Events in the ring of a process that was killed, or that still runs.
struct LeftBehind {
  RingOwner owner;
  std::vector<TraceEvent> events;  // in the order of their recording
};
// Nothing when there is no ring, or one of another program.
[[nodiscard]] std::optional<LeftBehind> read_ring(const std::string& path);

// Beside a trace file: node1.trace has node1.ring.
[[nodiscard]] std::string ring_path_of(const std::string& trace_path);

}  // namespace shoal
