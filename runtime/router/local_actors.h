// The actors of this process: what each is given of letters, of the journal and of orders to fail.
//
//   attached ──▶ first the journal so far, then orders that waited, then what its last life had not taken
//   letter   ──▶ kept until it is taken, where the actor must lose none (untaken_letters.h), and given
//   down     ──▶ gone; an actor that must lose none keeps its place, and its letters, for the next life
//
// Invariants: entries are given in the journal's order, none twice; an order to fail is performed once (S-6: those
// that wait are bounded). This class knows actors by key only; the shell holds their handles.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/journal/follower.h"
#include "runtime/router/orders_for_absent.h"
#include "runtime/router/router_edge.h"
#include "runtime/router/router_notes.h"
#include "runtime/router/untaken_letters.h"

namespace shoal {

// Holds what an actor says of itself when it attaches.
struct LocalActor {
  Address address;    // process unused
  bool is_up = true;  // false: it is still to come, and its letters are kept for it (`taken`)
  std::shared_ptr<ActorPulse> pulse{};
  UntakenLetters::Counter taken{};  // none: its letters are lost with it
};

class LocalActors {
 public:
  // links: tells run and term, for the trace.
  LocalActors(const LinkTable& links, RouterEdge& edge, RouterNotes& notes)
      : links_(&links), edge_(&edge), notes_(&notes) {}

  void attach(const LocalActor& actor, const JournalFollower& journal);
  void detach(const LocalKey& actor) { actors_.erase(actor); }
  void down(const LocalKey& actor);

  // Gives a letter to its actor. transfer: how long its tensors took; zero: it has none, or came from this process.
  // False: nobody has that address.
  [[nodiscard]] bool hand_over(Letter& letter, Duration transfer, Instant now);
  void follow(const JournalEntry& entry);
  // The missing entries are no longer stored anywhere: every actor starts at this view.
  void begin_at(const std::shared_ptr<const View>& past);

  // An actor that is down fails when it is up again. False: too many orders already wait.
  [[nodiscard]] bool fail(const Inject& order, Instant now);
  void fail_router(const Inject& order) { inflict({}, order); }
  // Returns orders for actors that did not come back.
  [[nodiscard]] std::vector<Inject> take_missed(Instant now) { return orders_.take_expired(now); }
  // Letters are kept for actors that must lose none only until they have taken them.
  void forget_taken();

  [[nodiscard]] bool contains(const LocalKey& actor) const { return actors_.contains(actor); }
  [[nodiscard]] std::size_t size() const { return actors_.size(); }

 private:
  struct Local {
    bool is_up = false;
    std::shared_ptr<ActorPulse> pulse;
    std::optional<UntakenLetters> untaken;
  };

  void inflict(const LocalKey& victim, const Inject& order);
  void give_journal(const LocalKey& actor, const JournalFollower& journal);

  const LinkTable* links_;
  RouterEdge* edge_;
  RouterNotes* notes_;
  std::map<LocalKey, Local> actors_;
  OrdersForAbsent orders_;
};

}  // namespace shoal
