// Directory of processes, by incarnation, from Join to loss. Decides admission, also by kernels (DESIGN.md §4.11).
//
// A process incarnation is given once. A repeated Join (same nonce) of a live process gets the same answer. Two live
// processes never share (name, device index): the second is refused, unless the first one's link is broken or it says
// that it was the first one before its link broke. Kernels are those that the run has trained with, whoever is left of
// those who did; before that, those of whoever is there, unless a member comes back with others: then whoever is there
// has the wrong ones. A process that its keeper starts in the place of one that was put out, or left, is to go, too: by
// the number of its keeper it is told from one that a person has started again. A number of an earlier term is given
// back only under the role and the name that are on record with it, where there is a record (S-7). Pure: numbers come
// in.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "messages/cluster.h"
#include "messages/values/device_use.h"
#include "messages/values/run_events.h"
#include "runtime/base/config.h"

namespace shoal {

enum class FingerprintRule { kMustAgree, kMayDiffer };

// A member comes back with its state: where the kernels of the run are not known, they are its own.
enum class Standing { kNewcomer, kMember };

struct Admitted {
  ProcessIncarnation process;
  bool is_new = false;                         // otherwise a repeat
  std::optional<ProcessIncarnation> replaces;  // itself before its link broke: lose() that one
  std::string warning;                         // mixed kernels where they are allowed
};

struct NotAdmitted {
  JoinRefusal reason = JoinRefusal::kNameTaken;
  std::string explanation;
  std::optional<ProcessIncarnation> holder;  // the process that has the name
};

struct ProcessRecord {
  Join join;
  bool is_alive = true;
  bool is_linked = true;  // false: its link broke, and it may or may not come back
  bool is_evicted = false;
  bool has_left = false;  // told so: nobody starts it again by itself
  std::string lost_why{};
  DeviceUse use{};  // as it told last
};

// A worker that was admitted before the kernels of the run were known, and has others.
struct UnlikeWorker {
  ProcessIncarnation process;
  std::string why;
};

// A worker that was lost, as a person names it, and why.
struct LostWorker {
  std::string name;
  std::string why;
};

// Returns the number of the keeper that started the process, drawn at the keeper's own start; 0: nobody keeps it.
[[nodiscard]] constexpr std::uint32_t keeper_of(const Join& join) {
  return static_cast<std::uint32_t>(join.nonce >> 32U);
}
// Returns the nonce of a start: the keeper's number, then one of the start's own.
[[nodiscard]] constexpr std::uint64_t nonce_of_start(std::uint32_t keeper, std::uint32_t start) {
  return (std::uint64_t{keeper} << 32U) | start;
}

// Why a process is in no longer: the event that says so, and the words for it.
struct Departure {
  RunEventKind kind;
  const char* verb;
};
inline constexpr Departure kWasLost{RunEventKind::kProcessLost, "was lost"};
inline constexpr Departure kLeft{RunEventKind::kProcessLeft, "left"};  // between two steps, and told so: nobody's fault
inline constexpr Departure kWasEvicted{RunEventKind::kEvicted, "was evicted"};  // by a person

// Names a process as a person does: its node, and its device if that is not the node's first: "x", "x:1".
[[nodiscard]] std::string name_of_process(const std::string& node, std::uint32_t device_index);

class ProcessDirectory {
 public:
  // precision: of the run; kernels are compared by what it uses of them.
  explicit ProcessDirectory(FingerprintRule rule, Precision precision = Precision::kFp32)
      : rule_(rule), precision_(precision) {}

  // `next` is used up only when is_new is returned.
  [[nodiscard]] std::variant<Admitted, NotAdmitted> admit(const Join& join, ProcessIncarnation next,
                                                          Standing standing = Standing::kNewcomer);
  // The record that an earlier term left of who has which number. Without one, whoever says that a number was its own
  // is believed.
  void await(const std::vector<Peer>& on_record);
  [[nodiscard]] bool has_record() const { return awaited_.has_value(); }
  // Says whether the number that the process says it had is its own.
  [[nodiscard]] bool may_come_back(const Join& join) const;
  // Returns those on record that have not come back. A storage that has come takes the place of one that has not.
  [[nodiscard]] std::vector<Peer> awaited() const;
  // False when it was not alive.
  bool lose(ProcessIncarnation process, const std::string& why = {});
  // The process is about to be lost, and is not to come back: whatever it says later is answered so.
  void evict(ProcessIncarnation process);
  // The process is about to be lost because it leaves.
  void leave(ProcessIncarnation process);
  // The run has trained with these before this term.
  void has_trained_with(std::string kernels) { kernels_ = std::move(kernels); }
  // The process is a member, or is about to be: from now on the run's kernels are known, the first one's. True: they
  // were not.
  bool trains(ProcessIncarnation process);
  // Returns the fingerprint that the run has trained with; none: nobody knows one.
  [[nodiscard]] const std::optional<std::string>& kernels() const { return kernels_; }
  // Returns those alive whose kernels differ from the run's and must not; none while the run's are not known.
  [[nodiscard]] std::vector<UnlikeWorker> unlike() const;
  void set_linked(ProcessIncarnation process, bool is_linked);
  void note_use(ProcessIncarnation process, const DeviceUse& use);

  [[nodiscard]] bool is_alive(ProcessIncarnation process) const;
  // Null for a process that never joined.
  [[nodiscard]] const ProcessRecord* find(ProcessIncarnation process) const;
  [[nodiscard]] std::string name_of(ProcessIncarnation process) const;
  // How many processes of its name and device came before it, as far as they are remembered.
  [[nodiscard]] std::uint32_t lives_before(ProcessIncarnation process) const;
  // True when processes of that name have joined, as far as they are remembered, and none of them is alive.
  [[nodiscard]] bool has_lost(std::string_view name) const;
  // Returns how a node, or the device of that name, went: none of its processes is alive, and nobody starts one again
  // by itself. None: that is not so, or no process of that name is remembered.
  [[nodiscard]] std::optional<Departure> departed(std::string_view name) const;
  // Says whether the process's keeper had started it before, as this node, and was to end: it has not heard.
  enum class KeeperEnds : std::uint8_t { kNo, kByDrain, kByEviction };
  [[nodiscard]] KeeperEnds is_keeper_to_end(ProcessIncarnation process) const;
  // Names the devices of a node, or the one of that name, whose newest process, as far as they are remembered, was
  // lost: its keeper starts each again.
  [[nodiscard]] std::vector<std::string> coming_back(std::string_view name) const;
  // Returns the same of all nodes, as far as they are remembered, with why they were lost.
  [[nodiscard]] std::vector<LostWorker> lost_workers() const;
  [[nodiscard]] std::vector<ProcessIncarnation> alive() const;
  [[nodiscard]] std::vector<ProcessIncarnation> alive(ProcessRole role) const;
  // Those of a node: one per device.
  [[nodiscard]] std::vector<ProcessIncarnation> alive(std::string_view node) const;
  [[nodiscard]] std::vector<Peer> peers() const;

 private:
  // Returns the newest process of each device of each node.
  [[nodiscard]] std::vector<const ProcessRecord*> newest() const;
  // Returns those of them that were lost and whose keepers start others.
  [[nodiscard]] std::vector<const ProcessRecord*> lost_newest() const;
  // Why this worker's kernels are not the run's; empty: they are, or nobody knows yet.
  [[nodiscard]] std::string difference_in_kernels(const Join& join, Standing standing) const;

  FingerprintRule rule_;
  Precision precision_;
  std::optional<std::string> kernels_;  // whole; of whoever trained first
  std::map<ProcessIncarnation, ProcessRecord> processes_;
  std::optional<std::map<ProcessIncarnation, Peer>> awaited_;
};

}  // namespace shoal
