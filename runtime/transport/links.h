// Links of a process: with which processes it is linked, who dials whom, and who may say what over a link.
//
//   down ──dial (20 ms .. 500 ms apart)──▶ dialling ──handle──▶ greeting ──answering Hello──▶ up ──DOWN──▶ down
//   the other side: a stranger's frame ──▶ strange ──Hello──▶ up (anonymous until welcomed)
//   storage:                                          ──Hello, a number of nobody──▶ waits ──Peers name it──▶ up
//
// Invariants: one link per process, the newest; only one side of a pair dials (crossing dials kill both: CAF.md §2);
// a link is good only after a Hello of this protocol version and run, and of the spawner only with the newest term
// (S-4). A number that Peers give to a process of another name or role, or gave before that one left, is believed of
// nobody else (S-7): a node's number in a Hello is its own word. Storage, which keeps what others send, believes no
// number before Peers name it. Strangers may say Hello and Join, nothing else. Bounded (S-6): kStrangersMax links,
// kFormerNamesMax processes that left. Pure: the router acts on the effects.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "messages/letter.h"
#include "messages/values/one_of.h"
#include "runtime/base/arithmetic/jitter.h"
#include "runtime/base/bound.h"
#include "runtime/base/clock.h"

namespace shoal {

// One connection as the router counts them; never reused.
struct LinkId {
  std::uint64_t value = 0;
  friend auto operator<=>(const LinkId&, const LinkId&) = default;
};

// This process, as it introduces itself. A node has no number until it is welcomed; the spawner's is 0.
struct LinkSelf {
  ProcessRole role = ProcessRole::kNode;
  std::optional<ProcessIncarnation> process;
  std::string name;
  RunId run;
  Term term;  // highest known; the spawner's own
};

// Identity of the other end. Without a number: a node before its welcome.
struct LinkIdentity {
  ProcessRole role = ProcessRole::kNode;
  std::optional<ProcessIncarnation> process;
  std::string name;
};

struct DialPeer {
  ProcessIncarnation process;
  Endpoint endpoint;
};
struct SendHello {
  LinkId link;
  Hello hello;
};
struct LinkUp {  // letters that waited for this process may go
  LinkId link;
  ProcessIncarnation process;
};
struct CloseLink {
  LinkId link;
  std::string reason;
  bool was_farewell = false;  // the peer closed it: it needs no farewell, and answering one would never end
};
struct ReportLost {  // the spawner's router tells its supervisor; any other tells its node agent of a lost spawner
  ProcessIncarnation process;
  std::string reason;
};
// A peer without a link for long, or whose link lets nothing through, while that of the spawner does: it is told. Of
// the spawner itself a person alone is told.
struct ReportUnreachable {
  ProcessIncarnation process;
  Duration since{};      // without a link; zero: it stands
  std::string remedy{};  // for the log of this process; empty: it was told already
};
using LinkEffect = OneOf<DialPeer, SendHello, LinkUp, CloseLink, ReportLost, ReportUnreachable>;

inline const Bound kStrangersMax{"links.strangers", 256};
inline const Bound kFormerNamesMax{"links.former_names", 1024};

struct LinkLimits {
  Duration backoff_first = std::chrono::milliseconds(20);
  Duration backoff_last = std::chrono::milliseconds(500);
  Duration dial_timeout = std::chrono::seconds(8);
  Duration hello_timeout = std::chrono::seconds(2);
  std::size_t strangers_max = kStrangersMax;          // links without a process number
  Duration complain_after = std::chrono::seconds(3);  // without a link to a peer; again every complain_every
  Duration complain_every = std::chrono::seconds(1);
};

// Returns true when this side dials: every process dials the spawner, nodes dial storage, and of two nodes the one with
// the smaller incarnation dials.
[[nodiscard]] bool dials(ProcessRole self_role, std::optional<ProcessIncarnation> self, ProcessRole peer_role,
                         ProcessIncarnation peer);

// Tells a person, where this process and a peer have no link, whose port is to be opened for whom.
[[nodiscard]] std::string unreachable_text(const std::string& peer, const Endpoint& endpoint, bool we_dial);
// The same, where the link stands and nothing comes through.
[[nodiscard]] std::string unanswered_text(const std::string& peer, const Endpoint& endpoint);

// Returns true when a process of this role may send this body to another process at all; checked on arrival.
[[nodiscard]] bool may_say(const LinkIdentity& sender, const MessageBody& body);

// Returns false when a body names another process than it came from: nobody leaves, beats or gets ready for another.
[[nodiscard]] bool speaks_for_itself(ProcessIncarnation from, const MessageBody& body);

class LinkTable {
 public:
  LinkTable(LinkSelf self, LinkLimits limits, std::uint64_t jitter_seed);

  // Sets the address at which the spawner listens: it is dialled from the first tick on.
  void set_spawner(const Endpoint& endpoint);
  // This process has been welcomed: every link is told.
  [[nodiscard]] std::vector<LinkEffect> identify(ProcessIncarnation process, RunId run, Term term, Instant now);
  // Replaces the table of peers, unless it is older than the one we have; a process that left it loses its link, and so
  // does one that took the number of another. Whoever waited for its number to be named is answered.
  [[nodiscard]] std::vector<LinkEffect> peers(const Peers& peers);
  // Tells for how long the machine at the other end has acknowledged nothing of what waits for that.
  using Unanswered = std::function<Duration(LinkId)>;
  [[nodiscard]] std::vector<LinkEffect> tick(Instant now, const Unanswered& unanswered = {});

  // A dial ended: with a new connection, or without one.
  [[nodiscard]] std::vector<LinkEffect> dialled(ProcessIncarnation process, std::optional<LinkId> link, Instant now);
  // A connection that nobody here dialled; false when there are too many such.
  [[nodiscard]] bool stranger(LinkId link, Instant now);
  [[nodiscard]] std::vector<LinkEffect> hello(LinkId link, const Hello& hello, Instant now);
  // The spawner has given the process at the other end its number.
  [[nodiscard]] std::vector<LinkEffect> bind(LinkId link, ProcessIncarnation process);
  [[nodiscard]] std::vector<LinkEffect> lost(LinkId link, const std::string& reason, Instant now);

  // The good link to a process.
  [[nodiscard]] std::optional<LinkId> link_to(ProcessIncarnation process) const;
  // Returns who said a good Hello on this link.
  [[nodiscard]] std::optional<LinkIdentity> identity(LinkId link) const;
  [[nodiscard]] std::optional<ProcessIncarnation> storage() const;
  [[nodiscard]] bool is_expected(ProcessIncarnation process) const;  // in Peers, or the spawner
  // Every expected process is linked: nothing to dial, to greet or to wait for soon.
  [[nodiscard]] bool is_settled() const;
  [[nodiscard]] const LinkSelf& self() const { return self_; }

 private:
  enum class DialState : std::uint8_t { kIdle, kDialling, kGreeting, kUp };
  struct Destination {
    ProcessRole role = ProcessRole::kNode;
    std::string name;
    Endpoint endpoint;
    bool we_dial = false;
    DialState state = DialState::kIdle;
    Instant due;  // idle: next dial; dialling, greeting: given up
    int failures = 0;
    std::optional<LinkId> greeting;
    std::optional<Instant> unreachable_since;
    Instant complained_at;
    Duration unanswered{};  // on the link that stands
    Instant unanswered_at;  // when that was asked
    std::string told;       // to a person, last, since it was last reached
  };
  struct Link {
    bool greeted = false;   // a good Hello was received
    bool answered = false;  // we have sent ours
    LinkIdentity identity;
    std::optional<ProcessIncarnation> dialled_to;
    std::optional<ProcessIncarnation> claimed;  // a number that no Peers have named yet
    Instant began;                              // or when that number was claimed
  };
  // Says who has a number, or had it.
  struct Named {
    ProcessRole role = ProcessRole::kNode;
    std::string name;
  };

  [[nodiscard]] Hello own_hello(bool is_answer) const;
  [[nodiscard]] std::optional<std::string> objection(const Link& link, const Hello& hello) const;
  [[nodiscard]] std::vector<LinkEffect> put_up(LinkId link, ProcessIncarnation process);
  [[nodiscard]] std::vector<LinkEffect> drop(LinkId link, const std::string& reason);
  [[nodiscard]] std::optional<Named> named(ProcessIncarnation process) const;
  [[nodiscard]] bool is_anothers(ProcessIncarnation process, const LinkIdentity& claimed) const;
  [[nodiscard]] bool waits_for_its_name(const Hello& hello) const;
  [[nodiscard]] std::vector<LinkEffect> answer_named();
  void remember_former(ProcessIncarnation process, Named named);
  void release(ProcessIncarnation process, LinkId link);
  void back_off(Destination& destination, Instant now);
  void ask_links(const Unanswered& unanswered, Instant now);
  void complain(std::vector<LinkEffect>& out, Instant now);
  void decide_who_dials();

  LinkSelf self_;
  LinkLimits limits_;
  Jitter jitter_;
  Term peers_term_;
  std::uint64_t peers_serial_ = 0;
  std::map<ProcessIncarnation, Destination> destinations_;
  std::map<LinkId, Link> links_;
  std::map<ProcessIncarnation, LinkId> up_;
  std::deque<std::pair<ProcessIncarnation, Named>> former_;  // processes that left Peers, the newest last
};

}  // namespace shoal
