// One call of a replica's core, as its parts see it: what is true, when it is, and where they put their answers.
//
// Effects are performed in the order in which they were asked for; a job is the last of its call. Facts are given to
// all parts when the part that told them has returned. Time goes to what the replica does (replica_time.h).
#pragma once

#include <string>
#include <vector>

#include "runtime/base/clock.h"
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
  [[nodiscard]] bool is_running() const { return is_running_; }
  // Returns how long the job took that has just been completed.
  [[nodiscard]] float job_ms() const { return static_cast<float>(milliseconds(now_ - job_started_)); }
  void send(const Address& to, MessageBody body);
  void send_to_peer(Incarnation peer, MessageBody body);  // of the own stage
  // CHECKs that none is running.
  void run(Job job, Activity activity);
  // The replica ends: no part treats it as a member from here on.
  void end(std::string reason);
  void tell(Fact fact) { facts_.push_back(std::move(fact)); }
  // Returns where its time went since this was asked last.
  [[nodiscard]] TimeBreakdown take_time() { return time_.take(now_); }

  // For the frame.
  void begin(Instant now);
  void complete(Instant now);  // the job
  void transfer(double transfer_ms) { time_.transfer(transfer_ms); }
  [[nodiscard]] std::vector<Fact> take_facts() { return std::exchange(facts_, {}); }
  [[nodiscard]] Effects finish();

 private:
  ReplicaStanding& replica_;
  ReplicaTime time_;
  Instant now_;
  Instant job_started_;
  bool is_running_ = false;
  Effects effects_;
  std::vector<Fact> facts_;
};

// A part hears what it has a hear() for: messages, entries, results of jobs, facts.
template <class Part, class Heard>
concept PartHears = requires(Part& part, const Heard& heard, ReplicaTurn& turn) {
  part.hear(heard, turn);
};

}  // namespace shoal
