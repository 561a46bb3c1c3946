// The core of a router: what happens to its links, and which letters it believes.
//
//   a connection opens, greets, is believed ─▶ up ─▶ what waited for its process goes ─▶ breaks: told, dialled again
//   bytes of a connection ─▶ a letter ─▶ believed (letter_check.h) ─▶ MailRoom        from an actor here ─▶ MailRoom
//
// Invariants: nothing of a peer is read before its link's identity allows it (S-7); frames that do not add up, and a
// Hello in another role or name than the certificate's, reset their link. Time comes in; what is done outside goes
// through RouterEdge, in order. The parts know nothing of each other but what their constructors are given:
//
//   RouterCore ─▶ MailRoom ─▶ LocalActors            links.h: who is linked, who dials, who may say what
//       └──────────┴────────▶ OutgoingLetters ─▶ Connections
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/router/mail_room.h"

namespace shoal {

struct RouterSettings {
  LinkSelf self;                    // spawner: process 0 and its run and term; others: no process until welcomed
  std::optional<Endpoint> spawner;  // where the spawner's router listens; none in the spawner itself
  LetterFilter filter;              // empty: one copy of everything
  LinkLimits links;
  RequestLimits requests;
  AssemblyLimits assembly;
  std::size_t waiting_bytes_max = kWaitingBytesMax;  // letters for processes without a link
  std::size_t held_bytes_max = kHeldBytesMax;        // letters ahead of our journal
  std::uint64_t jitter_seed = 1;
  std::shared_ptr<Tracer> tracer = nullptr;  // none: this process keeps no trace
  std::shared_ptr<ActorBoard> board = nullptr;
  std::shared_ptr<Lanes> lanes = nullptr;           // none: tensors travel with everything else
  bool has_certificates = false;                    // false: links without certificates, in tests
  std::function<void(const Revocations&)> revoked;  // is given every list that the spawner sends; empty: nobody
  std::function<void(const Peers&)> numbered;       // in the spawner: is given every list of who has which number
};

class RouterCore {
 public:
  RouterCore(const RouterSettings& settings, RouterEdge& edge);
  RouterCore(const RouterCore&) = delete;
  RouterCore& operator=(const RouterCore&) = delete;

  // From an actor of this process.
  void post(Letter letter, Instant now);
  void attach(const LocalActor& actor) { mail_.attach(actor); }
  void detach(const Address& actor) { mail_.detach(actor); }
  void actor_down(const LocalKey& actor) { mail_.down(actor); }
  // This process has been welcomed under this name.
  void identify(ProcessIncarnation process, RunId run, Term term, Instant now);
  // A copy that RouterEdge::copy_to_host() was asked for; none: the device failed.
  void tensor_copied(const std::shared_ptr<const ResidentTensor>& tensor, const TensorBlob& copy) {
    outgoing_.copied(tensor, copy);
  }
  // waiting: messages in the router's mailbox.
  void tick(std::size_t waiting, Instant now);

  // A connection is there; dialled: where, if this side did. Its bytes are believed only after accept() or dialled().
  [[nodiscard]] LinkId open(std::optional<Endpoint> dialled, std::shared_ptr<const std::string> certificate);
  // The other side dialled. False: there are too many strangers, and it is closed again.
  [[nodiscard]] bool accept(LinkId link, Instant now);
  void dialled(ProcessIncarnation process, LinkId link, Instant now);
  void dial_failed(ProcessIncarnation process, const std::string& why, Instant now);
  // The connection is over.
  void link_down(LinkId link, const std::string& reason, Instant now);
  // Ends it, with a farewell.
  void reset(LinkId link, const std::string& reason, Instant now);

  // One frame of a connection, a letter that came over its lane, part of one.
  void receive_frame(LinkId link, std::span<const char> frame, Instant now);
  void receive_from_lane(LinkId link, const EncodedLetter& letter, Duration transfer, Instant now);
  void progress_on_lane(LinkId link, const Arriving& part, Instant now);
  void lane_up(LinkId link);
  void lane_has_room(LinkId link);
  void lane_ended(LinkId link, const std::string& reason, bool was_said, Instant now);

  [[nodiscard]] const Undelivered& undelivered() const { return notes_.undelivered; }

 private:
  struct Performer;
  enum class Farewell : std::uint8_t { kSay, kWasSaid };

  void perform(std::vector<LinkEffect> effects, Instant now);
  void link_up(ProcessIncarnation process, Instant now);
  void flush();
  void close(LinkId link, Farewell said, Instant now);
  void forget(LinkId link, Instant now);
  void end_link(LinkId link, const std::string& reason, Farewell said, Instant now);
  void answer_join(Letter letter, Instant now);

  void receive(LinkId link, const EncodedLetter& received, Duration transfer, Instant now);
  void receive_letter(LinkId link, Letter letter, Duration transfer, Instant now);
  void receive_hello(LinkId link, const Letter& letter, Instant now);
  void receive_progress(LinkId link, const Arriving& part, Instant now);
  void read_own_number(const Welcome& welcome, Instant now);

  bool has_certificates_;
  std::function<void(const Peers&)> numbered_;
  RouterEdge* edge_;
  RouterNotes notes_;
  LookTimer look_;
  LinkTable links_;
  Connections connections_;
  OutgoingLetters outgoing_;
  RouteHints hints_;
  MailRoom mail_;
};

}  // namespace shoal
