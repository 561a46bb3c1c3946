// Jobs that a replica's device was given and has not ended, and messages that wait until it has.
//
//   none ──streamed──▶ some, kJobsUnderWayMax at most ──each ends, in order──▶ none    heard meanwhile: the pipeline's
//   data none ──exclusive──▶ one ──ends──▶ none                                             heard meanwhile: nothing
//
// Invariant: what changes a thing that jobs rely on (an order, an entry, a part, the passage of time) meets none under
// way. It waits, and all that comes behind it waits with it, so messages keep their order; and no job begins while
// anything waits, so that it waits for those under way alone. A device that answers at once makes nothing wait.
// Bounded (S-6) like the mailbox that these messages would stay in if the actor computed by itself.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "messages/letter.h"
#include "runtime/base/bound.h"
#include "runtime/base/clock.h"
#include "runtime/pipeline/replica_time.h"
#include "runtime/sync/collective/collective.h"

namespace shoal {

class View;  // runtime/journal/view.h

inline const Bound kJobsUnderWayMax{"pipeline.jobs_under_way", 4};

struct TensorTimed {  // the next Forward or Backward was on its way for so long
  double milliseconds = 0;
};
struct HeldTick {};

using HeldMessage =
    std::variant<MessageBody, JournalEntry, std::shared_ptr<const View>, TensorTimed, HeldTick, CollectiveEvent>;

// Data of the pipeline enters ledgers and queues, which jobs under way do not read.
template <class Message>
inline constexpr bool kIsData =
    std::is_same_v<Message, Forward> || std::is_same_v<Message, Backward> || std::is_same_v<Message, Ask> ||
    std::is_same_v<Message, Missing> || std::is_same_v<Message, TensorTimed>;

enum class JobKind : std::uint8_t { kStreamed, kExclusive };

class JobsUnderWay {
 public:
  // Ensures that it may: a streamed one beside others, an exclusive one alone.
  void begin(JobKind kind, Activity activity, Instant now);
  // The oldest has ended. Returns how long the device had it.
  Duration end(Instant now);

  [[nodiscard]] bool is_empty() const { return jobs_.empty(); }
  [[nodiscard]] bool has_room() const {
    return !is_exclusive() && (jobs_.empty() || !kJobsUnderWayMax.is_reached_by(jobs_.size()));
  }
  // Tells what the device does now, which is the oldest.
  [[nodiscard]] Activity activity() const { return jobs_.front().activity; }
  template <class Message>
  [[nodiscard]] bool may_hear() const {
    return jobs_.empty() || (kIsData<Message> && !is_exclusive());
  }

 private:
  struct Job {
    JobKind kind = JobKind::kStreamed;
    Activity activity = Activity::kIdle;
    Instant began;  // by the device
  };
  [[nodiscard]] bool is_exclusive() const { return !jobs_.empty() && jobs_.front().kind == JobKind::kExclusive; }

  std::deque<Job> jobs_;
};

class HeldMessages {
 public:
  [[nodiscard]] bool is_empty() const { return held_.empty(); }
  void hold(HeldMessage message) { held_.push_back(std::move(message)); }
  // The oldest, if it may be heard now.
  [[nodiscard]] std::optional<HeldMessage> take(const JobsUnderWay& jobs);

 private:
  std::deque<HeldMessage> held_;
};

}  // namespace shoal
