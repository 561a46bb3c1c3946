// Note of what the replicas of a process compute at this moment, which outlives them: in a file that is mapped, for the
// next life of the process, or in memory, for the process that outlives an actor.
//
//   stage: begin(work) ─▶ computes ─▶ end()          its actor throws: the node agent take()s what it was at
//                            │
//                            └ the process crashes: the file stays, and the next life finds it in left_behind()
//
// Invariant: work in the note was interrupted by its own computation. The owner of the file removes it after an
// end that came from outside (keeper.h), and a process that ends on purpose close()s it.
//
//   file = "SHWN", version, slot*         as they lie in memory; read by the same program only
//
// A replica's slot is its incarnation modulo their number: two of one process meet in one only when many others came
// between them, and then the older one's work is forgotten. Begin and end are a few stores; any thread may call.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "messages/ids.h"

namespace shoal {

struct NotedWork {
  RunId run;
  StageId stage;
  Incarnation replica;
  StepId step;
  MicrobatchId microbatch;
  friend bool operator==(const NotedWork&, const NotedWork&) = default;
};

class WorkNote {
 public:
  static constexpr std::size_t kSlots = 16;

  // Keeps the note in memory.
  WorkNote();
  // Keeps it in that file; where it cannot be had, in memory. What the file held before is in left_behind().
  explicit WorkNote(const std::string& path);
  ~WorkNote();
  WorkNote(const WorkNote&) = delete;
  WorkNote& operator=(const WorkNote&) = delete;

  void begin(const NotedWork& work);
  void end(Incarnation replica);
  // Returns, once, what the replica computed when it ended.
  [[nodiscard]] std::optional<NotedWork> take(Incarnation replica);
  // Says whether any replica computes.
  [[nodiscard]] bool has_work() const;
  // Nothing of this life is worth a note any more.
  void close();

  [[nodiscard]] const std::vector<NotedWork>& left_behind() const { return left_behind_; }

 private:
  struct Slot {
    std::atomic<std::uint64_t> replica{0};  // 0: nobody computes
    std::atomic<std::uint64_t> run{0};
    std::atomic<std::uint64_t> step{0};
    std::atomic<std::uint32_t> stage{0};
    std::atomic<std::uint32_t> microbatch{0};
  };
  struct Page {
    std::array<char, 4> magic{'S', 'H', 'W', 'N'};
    std::uint32_t version = 1;
    std::array<Slot, kSlots> slots;
  };

  [[nodiscard]] static std::optional<NotedWork> read(const Slot& slot);
  [[nodiscard]] static std::vector<NotedWork> read_file_of(const std::string& path);
  [[nodiscard]] Slot& slot_of(Incarnation replica) { return page_->slots[replica.value % kSlots]; }

  std::unique_ptr<Page> own_;
  Page* page_ = nullptr;  // own_, or the mapped file
  std::atomic<bool> is_closed_{false};
  std::vector<NotedWork> left_behind_;
};

}  // namespace shoal
