// A router's memory of the Forwards its local actors sent: what was asked of whom, and what to do about silence.
//
//              Backward                                                 Commit of the step (P-11: not before)
//   asked ──────────────────────────▶ answered ───────────────────────────────────────────────────────▶ dropped
//    │ ▲ time-out: Ask to the same hop; working: wait on, unknown: the same Forward again (P-13)
//    │ │ frozen, step_not_reached, busy: the same Forward to the same hop, later
//    │ │ three unanswered Asks of a hop without a link, or none for `patience`; fenced, not_member, unknown_replica;
//    │ │ the hop was removed: only this hop is replaced
//    └─┘ Missing{upstream, mbs}: those entries again, answered or not, once for each epoch (P-12, P-17)
//
// An Ask travels behind its Forward, and its answer behind a Backward that was given before it (letter_way.h): so
// `unknown` says that one of the two is lost. Where that order does not hold, the Forward goes once too often.
//
// Invariants: an entry is dropped only by its step's Commit, its requester's removal, a new branch, its quarantine, or
// (evaluations) its answer; another hop is chosen only for the reasons above, or because a stage stays frozen: who
// holds the microbatch is looked for then. Bounded (S-6): entries per requester, beyond them refused and counted. Pure:
// time and journal entries come in, letters go out; the router that owns it routes them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "messages/letter.h"
#include "runtime/base/bound.h"
#include "runtime/base/clock.h"
#include "runtime/journal/view.h"

namespace shoal {

inline const Bound kUnansweredAsksMax{"pipeline.unanswered_asks", 3};
inline const Bound kRequestsMax{"pipeline.requests_kept", 4096};  // per requester

struct RequestLimits {
  Duration floor = std::chrono::seconds(1);        // least time-out, which is 4 x the hop's moving average
  Duration ceiling = std::chrono::seconds(8);      // bounds doubling; a hop measured slower keeps its time-out
  Duration retry = std::chrono::milliseconds(20);  // first delay after a refusal that passes; doubles
  Duration retry_ceiling = std::chrono::milliseconds(500);
  std::uint64_t unanswered_asks_max = kUnansweredAsksMax;
  Duration patience = std::chrono::seconds(60);  // with a silent hop whose link is good: it computes
  std::size_t entries_per_requester_max = kRequestsMax;
};

struct RequestCounts {
  std::uint64_t sent_again = 0;  // to the same hop
  std::uint64_t rerouted = 0;    // to another one
  std::uint64_t asked = 0;
  std::uint64_t refused = 0;  // beyond the bound
};

class RequestTable {
 public:
  explicit RequestTable(RequestLimits limits) : limits_(limits) {}

  // A local actor (0: the data loader) sends this to path[cause.hop]. Known already: the kept one goes again.
  [[nodiscard]] std::vector<Letter> add(Incarnation requester, Forward forward, Instant now);
  // Takes what came for a requester. Backwards are delivered whatever the table says: the ledger decides (P-9).
  void answered(Incarnation requester, const Backward& backward, Instant now);
  [[nodiscard]] std::vector<Letter> refused(Incarnation requester, const Refusal& refusal, Instant now);
  [[nodiscard]] std::vector<Letter> ask_answered(Incarnation requester, const AskAnswer& answer, Instant now);
  [[nodiscard]] std::vector<Letter> missing(const Missing& missing, Instant now);
  // The journal went on without us for longer than its entries are kept: what was asked before is of no step any more.
  void begin_at(const View& past);
  // Every entry of the journal from there on, in order.
  [[nodiscard]] std::vector<Letter> follow(const JournalEntry& entry, Instant now);
  // is_linked: whether there is a good link to a replica's process, which may be this one. None: there is none to any.
  [[nodiscard]] std::vector<Letter> tick(Instant now, const std::function<bool(Incarnation)>& is_linked = nullptr);
  // The requester's actor ended without a word in the journal (it comes back as another one).
  void forget(Incarnation requester);

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::size_t unanswered_count() const;
  // True when something is to be sent again soon, after a refusal that passes.
  [[nodiscard]] bool has_retries() const;
  [[nodiscard]] const RequestCounts& counts() const { return counts_; }
  [[nodiscard]] const View& view() const { return view_; }
  // The time-out the next request to this hop starts with.
  [[nodiscard]] Duration timeout_of(Incarnation hop) const;

 private:
  struct Key {
    Incarnation requester;
    Branch branch;
    StepId step;
    Purpose purpose = Purpose::kTrain;
    MicrobatchId microbatch;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  enum class Waiting : std::uint8_t { kForAnswer, kToRetry, kForReplica, kForNothing };
  struct Entry {
    Forward forward;
    std::optional<Incarnation> answered_by;  // none: it waits
    bool measurable = true;  // sent once since its answer was due (Karn: a repeat's round trip tells nothing)
    Waiting waiting = Waiting::kForAnswer;
    Instant sent_at;
    Instant due;
    int doublings = 0;
    int unanswered_asks = 0;
    int retries = 0;
    int frozen = 0;    // refusals since the last answer
    int reroutes = 0;  // since the last answer: from the second on they wait, lest two refusing replicas make a storm
    std::optional<Epoch> missing_in;  // the newest order that lacked it, for which it was sent again
    [[nodiscard]] Incarnation hop() const { return forward.path[forward.cause.hop]; }
    [[nodiscard]] StageId stage() const { return StageId{forward.cause.hop}; }
  };

  [[nodiscard]] static Key key_of(Incarnation requester, const Cause& cause, Purpose purpose);
  [[nodiscard]] Entry* find(Incarnation requester, const Cause& cause, Purpose purpose);
  [[nodiscard]] std::size_t count_of(Incarnation requester) const;
  [[nodiscard]] bool is_served(const Entry& entry) const;
  [[nodiscard]] Duration backed_off(const Entry& entry) const;
  void measure(const Entry& entry, const Backward& backward, Instant now);
  [[nodiscard]] bool is_given_up(const Entry& entry, bool is_linked, Instant now) const;
  void send(Entry& entry, Instant now, std::vector<Letter>& out);
  void send_again(Entry& entry, Instant now, std::vector<Letter>& out);
  void reroute(Entry& entry, Instant now, std::vector<Letter>& out);
  void look_for_holder(Entry& entry);
  void retry_later(Entry& entry, Instant now);
  void ask(Entry& entry, Instant now, std::vector<Letter>& out);
  void replica_added(StageId stage, Instant now, std::vector<Letter>& out);
  void replica_removed(Incarnation replica, Instant now, std::vector<Letter>& out);
  void committed(Branch branch, StepId step);
  void withdraw(StepId step, MicrobatchId microbatch);

  RequestLimits limits_;
  View view_;
  std::map<Key, Entry> entries_;
  std::map<Incarnation, double> answer_ms_;  // moving average per hop
  std::map<Incarnation, Instant> heard_;     // when each hop last said anything of what it was asked for
  std::optional<Instant> looked_at_;         // the last tick
  RequestCounts counts_;
};

}  // namespace shoal
