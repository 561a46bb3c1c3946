// One call of a replica's core, as its parts see it: what is true, when it is, and where they put their answers.
//
// Effects are performed in the order in which they were asked for; a job is the last of its call. Facts are given to
// all parts when the part that told them has returned. Time goes to what the device does (replica_time.h); of several
// jobs under way (jobs_under_way.h) that is the oldest.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/pipeline/jobs_under_way.h"
#include "runtime/pipeline/replica/replica_facts.h"
#include "runtime/pipeline/replica/replica_setup.h"
#include "runtime/pipeline/replica/replica_standing.h"
#include "runtime/pipeline/replica_time.h"

namespace shoal {

class ReplicaTurn {
 public:
  // The standing outlives it. Only its membership is changed here: by end().
  ReplicaTurn(ReplicaStanding& replica, Instant now) : replica_(replica), time_(now), now_(now) {}

  // For the parts.
  [[nodiscard]] const ReplicaStanding& replica() const { return replica_; }
  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] bool is_running() const { return !jobs_.is_empty(); }
  // Returns how long the job took that has just been completed.
  [[nodiscard]] float job_ms() const { return static_cast<float>(milliseconds(job_took_)); }
  void send(const Address& to, MessageBody body);
  void send_to_peer(Incarnation peer, MessageBody body);  // of the own stage
  // Ensures that none is under way: nothing is heard until this one has ended.
  void run(Job job, Activity activity) { begin(std::move(job), JobKind::kExclusive, activity); }
  // Adds a microbatch's work to what is under way. Ensures that there is room.
  void stream(Job job, Activity activity) { begin(std::move(job), JobKind::kStreamed, activity); }
  void collect(CollectiveOrder order) { effects_.push_back(Collect{std::move(order)}); }
  // The replica ends: no part treats it as a member from here on.
  void end(std::string reason);
  void tell(Fact fact) { facts_.push_back(std::move(fact)); }
  // Returns where its time went since this was asked last.
  [[nodiscard]] TimeBreakdown take_time() { return time_.take(now_); }

  // For the frame.
  void begin(Instant now) { now_ = now; }
  void complete(Instant now);  // the oldest job
  [[nodiscard]] const JobsUnderWay& jobs() const { return jobs_; }
  void transfer(double transfer_ms) { time_.transfer(transfer_ms); }
  [[nodiscard]] std::vector<Fact> take_facts() { return std::exchange(facts_, {}); }
  [[nodiscard]] Effects finish();

 private:
  void begin(Job job, JobKind kind, Activity activity);

  ReplicaStanding& replica_;
  ReplicaTime time_;
  Instant now_;
  JobsUnderWay jobs_;
  Duration job_took_{};
  Effects effects_;
  std::vector<Fact> facts_;
};

// A part hears what it has a hear() for: messages, entries, results of jobs, facts.
template <class Part, class Heard>
concept PartHears = requires(Part& part, const Heard& heard, ReplicaTurn& turn) {
  part.hear(heard, turn);
};

}  // namespace shoal
