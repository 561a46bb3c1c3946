// The letters of a router: where each goes, what the router itself reads of it, and what waits for the journal.
//
//   post    from an actor of this process ─▶ kept if it asks for an answer ─▶ route
//   receive from another process, believed ─▶ held while it is ahead of the journal (P-25a) ─▶ deliver
//   route   here: deliver; elsewhere: outgoing_letters.h
//   deliver read by the router's cores, then handed over
//
// A letter is read by the request table, the journal and the links before anybody else sees it. Time comes in. Nothing
// here knows how a link comes up or breaks: that is RouterCore's, which calls this and is never called.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/journal/follower.h"
#include "runtime/pipeline/request_table.h"
#include "runtime/router/held_letters.h"
#include "runtime/router/local_actors.h"
#include "runtime/router/look_timer.h"
#include "runtime/router/outgoing_letters.h"
#include "runtime/router/route_hints.h"

namespace shoal {

inline const Bound kHeldBytesMax{"links.bytes_ahead_of_the_journal", std::uint64_t{64} << 20};

class MailRoom {
 public:
  struct Settings {
    RequestLimits requests;
    std::size_t held_bytes_max = kHeldBytesMax;  // letters ahead of our journal (held_letters.h)
    std::function<void(const Revocations&)> revoked;
  };
  // The parts of the router that the letters need, which outlive this.
  struct Parts {
    RouterEdge& edge;
    RouterNotes& notes;
    LookTimer& look;
    const LinkTable& links;
    Connections& connections;
    OutgoingLetters& outgoing;
    RouteHints& hints;
  };
  MailRoom(Settings settings, Parts parts);

  // From an actor of this process.
  void post(Letter letter, Instant now);
  // From the router of another process, its sender verified. transfer: how long its tensors took.
  void receive(Letter letter, Duration transfer, Instant now);
  // To whoever it is addressed to, wherever that is.
  void route(Letter letter, Instant now);
  void route_all(std::vector<Letter> letters, Instant now);
  // To the actors of this process.
  void deliver(Letter letter, Duration transfer, Instant now);

  void attach(const LocalActor& actor) { locals_.attach(actor, journal_); }
  void detach(const Address& actor);
  void down(const LocalKey& actor) { locals_.down(actor); }

  // Sends again what is due.
  void send_again(Instant now);
  // Gives up what is held of processes that have left.
  void forget_absent();
  // Gives up orders for actors that did not come back, forgets what was taken, asks for the journal.
  void look_after_locals(Instant now);
  // Asks the supervisor for entries that we lack, when it is time to.
  void fetch_journal(Instant now);
  // The link with the spawner is new: what was on its way is lost.
  void fetch_journal_at_once(Instant now);
  // Somebody else is at this position.
  void saw(JournalPosition position) { journal_.saw(position); }

  [[nodiscard]] const View& view() const { return requests_.view(); }
  [[nodiscard]] bool has_retries() const { return requests_.has_retries(); }

 private:
  struct Reader;

  [[nodiscard]] bool is_here(ProcessIncarnation process) const { return parts_.links.self().process == process; }
  [[nodiscard]] std::optional<ProcessIncarnation> process_of(const Address& to) const;
  [[nodiscard]] std::optional<ProcessIncarnation> process_of_replica(const Address& to) const;
  [[nodiscard]] bool is_linked(Incarnation replica) const;
  void refuse_question(const Letter& letter, RefusalReason reason, Instant now);
  void hand_over(Letter letter, Duration transfer, Instant now);
  void tell_missed(const Inject& order, Instant now);
  void follow(const JournalEntries& entries, Instant now);
  void end_of_another_journal(Instant now);
  void hold(HeldLetters::Held held, JournalPosition position, Instant now);
  void add_request(Forward forward, Instant now);
  void fill_in(MessageBody& body);

  Settings settings_;
  Parts parts_;
  RequestTable requests_;
  JournalFollower journal_;
  HeldLetters ahead_;
  LocalActors locals_;
  std::uint64_t retries_told_ = 0;  // of all that the request table counted
};

}  // namespace shoal
