// Links of the mail room: the effects of the link table, frames in and out, greetings and farewells.
#include "actors/router/router_wire.h"

#include <set>
#include <string>
#include <utility>

#include "messages/catalogue/facts.h"
#include "messages/codec.h"
#include "runtime/base/log.h"
#include "runtime/cluster/watch/sender_check.h"
#include "runtime/trace/trace_words.h"
#include "runtime/transport/error_words.h"
#include "runtime/transport/guard/peer_note.h"
#include "runtime/transport/lanes/letter_way.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr auto kDialTimeout = 6s;
constexpr std::size_t kLinkFrameBytes = std::size_t{128} << 10;  // on a slow way each is seen to come

// A link's numbers are never given twice within a process.
[[nodiscard]] LinkId open_connection(RouterSelf self, const caf::strong_actor_ptr& peer,
                                     std::optional<Endpoint> dialled = std::nullopt) {
  const LinkId link{++self->state.record.links_opened};
  auto handle = caf::actor_cast<RouterActor>(peer);
  self->monitor(handle);
  self->state.link_of[handle.address()] = link;
  const auto& certificate_of = self->state.config.certificate_of;
  Connection connection{handle, std::move(dialled), Assembler(self->state.config.assembly)};
  if (certificate_of) connection.certificate = certificate_of(handle.address().node());
  self->state.connections.emplace(link, std::move(connection));
  return link;
}

// With everything else that the actor library carries. It takes all: credits bound the tensors of the pipeline that lie
// in it, and whoever follows the journal asks for one letter of it at a time.
void send_frames(RouterSelf self, Connection& connection, const EncodedLetter& letter) {
  for (Cutter cutter(letter, ++connection.transfers, kLinkFrameBytes); !cutter.is_done();) {
    WireFrame frame;
    cutter.next(frame.bytes);
    self->send(connection.handle, std::move(frame));
  }
}

// Its handle may have another link by now.
void forget_connection(RouterSelf self, LinkId link) {
  auto& state = self->state;
  const auto found = state.connections.find(link);
  if (found == state.connections.end()) return;
  const auto known = state.link_of.find(found->second.handle.address());
  if (known != state.link_of.end() && known->second == link) state.link_of.erase(known);
  auto lost = found->second.state_sent.lost();
  state.connections.erase(found);
  if (state.config.lanes) state.config.lanes->close(link);
  state.hints.link_ended(link);
  route_all(self, std::move(lost));
}

enum class Farewell { kSay, kWasSaid };

// The peer hears of it by a Hello of no version, which ends its side of the link too and is never answered.
void close_connection(RouterSelf self, LinkId link, Farewell said) {
  const auto found = self->state.connections.find(link);
  if (found == self->state.connections.end()) return;
  if (said == Farewell::kSay) send_frames(self, found->second, encode(Letter{{}, {}, Hello{}}));
  forget_connection(self, link);
}

void end_link(RouterSelf self, LinkId link, const std::string& reason, Farewell said = Farewell::kSay) {
  close_connection(self, link, said);
  perform(self, self->state.links->lost(link, reason, now_of(self)));
}

void reset_link(RouterSelf self, LinkId link, const std::string& reason, Farewell said = Farewell::kSay) {
  log_warn("router", "link ", link.value, " reset: ", reason);
  end_link(self, link, reason, said);
}

// False: the lane is full, the letter is still the caller's. The time is taken before the other side can have it.
[[nodiscard]] bool send_over(RouterSelf self, LinkId link, Letter& letter) {
  const auto found = self->state.connections.find(link);
  if (found == self->state.connections.end()) return false;
  const ActorTrace& trace = self->state.trace;
  letter.span = trace.new_span(TraceKind::kSend);
  const std::int64_t sent_ns = trace.now_ns();
  const EncodedLetter encoded = encode(letter);
  const auto outcome = way_of(letter.body) == LetterWay::kLink || !self->state.config.lanes
                           ? LaneOutcome::kNone
                           : self->state.config.lanes->send(link, encoded);
  if (outcome == LaneOutcome::kFull) return false;
  if (outcome == LaneOutcome::kNone) send_frames(self, found->second, encoded);
  found->second.state_sent.add(letter);
  self->state.record.since_report.sent.*facts_of(letter.body).counts_as += byte_count(encoded);
  trace_letter(trace, TraceKind::kSend, letter, sent_ns);
  return true;
}

void dial(RouterSelf self, const DialPeer& order) {
  const RouterConfig& config = self->state.config;
  const bool is_searched = order.process == kSpawnerProcess && config.spawner_dialler;
  const auto report = [self, process = order.process, endpoint = is_searched ? Endpoint{} : order.endpoint](
                          caf::strong_actor_ptr peer, std::string why) {
    self->send(self, Dialled{process, endpoint, std::move(peer), std::move(why)});
  };
  const caf::actor dialler = is_searched      ? config.spawner_dialler
                             : config.dialler ? config.dialler(order.endpoint)
                                              : caf::actor{};
  if (!dialler) return report(nullptr, "no dialler");
  self->request(dialler, kDialTimeout, caf::connect_atom_v, order.endpoint.host, order.endpoint.port)
      .then([report](const caf::node_id&, caf::strong_actor_ptr& peer,
                     const std::set<std::string>&) { report(std::move(peer), "nothing published there"); },
            [report](caf::error& error) { report(nullptr, words_of(error)); });
}

void trace_link(RouterSelf self, ProcessIncarnation process, std::string_view what) {
  TraceEvent event;
  event.kind = TraceKind::kLink;
  event.subject = process.value;
  event.set_detail(what);
  self->state.trace.record(event);
}

void link_up(RouterSelf self, const LinkUp& up) {
  trace_link(self, up.process, "up");
  flush_waiting(self);
  if (up.process != kSpawnerProcess) return;
  self->state.journal.ask_at_once();
  fetch_journal(self);
}

// Who dialled the link opens its lane, with the key of who did not. The spawner has no lanes: no tensors go there.
[[nodiscard]] Hello with_lane_key(RouterSelf self, const SendHello& effect) {
  Hello hello = effect.hello;
  const auto found = self->state.connections.find(effect.link);
  const bool is_ours_to_open = found == self->state.connections.end() || found->second.dialled;
  if (!is_ours_to_open && self->state.config.lanes) hello.lane_key = self->state.config.lanes->expect(effect.link);
  return hello;
}

void open_lane(RouterSelf self, LinkId link, const Hello& hello) {
  const auto found = self->state.connections.find(link);
  if (found == self->state.connections.end() || !self->state.config.lanes) return;
  const auto& dialled = found->second.dialled;
  if (dialled && hello.lane_key != 0) self->state.config.lanes->open(link, *dialled, hello.lane_key);
}

struct LinkPerformer {
  RouterSelf self;
  void operator()(const DialPeer& effect) const { dial(self, effect); }
  void operator()(const SendHello& effect) const {
    const auto from = self->state.links->self().process.value_or(ProcessIncarnation{});
    Letter letter{from, {}, with_lane_key(self, effect)};
    (void)send_over(self, effect.link, letter);
  }
  void operator()(const LinkUp& effect) const { link_up(self, effect); }
  void operator()(const CloseLink& effect) const {
    reset_link(self, effect.link, effect.reason, effect.was_farewell ? Farewell::kWasSaid : Farewell::kSay);
  }
  void operator()(const ReportLost& effect) const {
    trace_link(self, effect.process, "lost: " + effect.reason);
    const LinkSelf& here = self->state.links->self();
    const Address to = here.role == ProcessRole::kSpawner ? to_supervisor()
                                                          : to_node_agent(here.process.value_or(ProcessIncarnation{}));
    deliver(self, Letter{{}, to, ProcessLost{effect.process, effect.reason}}, {});
  }
  void operator()(const ReportUnreachable& effect) const {
    const auto process = self->state.links->self().process.value_or(ProcessIncarnation{});
    const auto since_ms = static_cast<std::uint64_t>(milliseconds(effect.since));
    log_debug("router", "process ", effect.process, " cannot be reached since ", since_ms, " ms");
    if (!effect.remedy.empty()) log_warn("router", effect.remedy);
    route(self, Letter{{}, to_supervisor(), PeerUnreachable{process, effect.process, since_ms}});
  }
};

void remember_routes(RouterSelf self, LinkId link, const LinkIdentity& sender, const MessageBody& body) {
  auto& hints = self->state.hints;
  if (const auto* join = std::get_if<Join>(&body)) {
    hints.joins(join->nonce, link);
  } else if (const auto* fetch = std::get_if<FetchState>(&body); fetch != nullptr && sender.process) {
    hints.fetches(fetch->replica, *sender.process);
  }
}

// Whether the letter is for this process. An answer to a Join brings the number that we do not know yet.
[[nodiscard]] bool is_for_us(RouterSelf self, const Letter& letter) {
  const bool answers_join =
      std::holds_alternative<Welcome>(letter.body) || std::holds_alternative<JoinRefused>(letter.body);
  return answers_join || self->state.links->self().process == letter.to.process;
}

[[nodiscard]] PeerRole as_certified(ProcessRole role) {
  switch (role) {
    case ProcessRole::kSpawner: return PeerRole::kSpawner;
    case ProcessRole::kStorage: return PeerRole::kStorage;
    case ProcessRole::kNode: break;
  }
  return PeerRole::kNode;
}

// Why a Hello is not believed: its role is not that of the certificate which the connection was made with (S-7). A
// farewell claims nothing.
[[nodiscard]] std::optional<std::string> objection_to(RouterSelf self, LinkId link, const Hello& hello) {
  const auto& certified_role = self->state.config.certified_role;
  if (!certified_role || hello.protocol_version == 0) return std::nullopt;
  const auto role = certified_role(self->state.connections.at(link).handle.address().node());
  const PeerRole claimed = as_certified(hello.role);
  if (role == claimed) return std::nullopt;
  const std::string_view certified = role ? role_text(*role) : "nothing: it is gone";
  return compose("a Hello as ", role_text(claimed), " from ", hello.name, ", whose certificate says ", certified);
}

void receive_hello(RouterSelf self, LinkId link, const Letter& letter) {
  auto& state = self->state;
  const auto& hello = std::get<Hello>(letter.body);
  const auto why_not = objection_to(self, link, hello);
  trace_letter(state.trace, why_not ? TraceKind::kDrop : TraceKind::kReceive, letter);
  if (!why_not) {
    perform(self, state.links->hello(link, hello, now_of(self)));
    return open_lane(self, link, hello);
  }
  state.record.undelivered.add(Undelivered::Why::kForged);
  reset_link(self, link, *why_not);
}

// Why a letter is not believed.
[[nodiscard]] std::optional<Undelivered::Why> fault_of(RouterSelf self, LinkId link, const Letter& letter) {
  const auto& state = self->state;
  const auto sender = state.links->identity(link);
  if (!sender || !may_say(*sender, letter.body)) return Undelivered::Why::kNotAllowed;
  const bool is_its_own = letter.from == sender->process.value_or(letter.from) &&
                          speaks_for_itself(letter.from, letter.body) &&
                          is_replica_its_own(state.requests->view(), letter.from, letter.body);
  if (!is_its_own) return Undelivered::Why::kForged;
  if (!is_for_us(self, letter)) return Undelivered::Why::kNobody;
  return std::nullopt;
}

void receive_letter(RouterSelf self, LinkId link, Letter letter, Duration transfer) {
  auto& state = self->state;
  if (std::holds_alternative<Hello>(letter.body)) return receive_hello(self, link, letter);
  if (const auto fault = fault_of(self, link, letter)) return drop(self, letter, *fault);
  remember_routes(self, link, *state.links->identity(link), letter.body);
  trace_letter(state.trace, TraceKind::kReceive, letter);
  const auto* shard = std::get_if<SaveShard>(&letter.body);
  if (shard != nullptr) route(self, *progress_of(letter, shard->image.byte_count()));
  receive_verified(self, std::move(letter), transfer);
}

// Of a letter whose tensors are not there yet; it is judged like the whole one.
void receive_progress(RouterSelf self, LinkId link, const EncodedLetter& arriving, std::uint64_t received) {
  const auto letter = decode(arriving.bytes, arriving.buffers);
  if (!letter.value || fault_of(self, link, *letter.value)) return;  // refused when it is whole
  auto progress = progress_of(*letter.value, received);
  if (progress) route(self, std::move(*progress));
}

void receive_encoded(RouterSelf self, LinkId link, const EncodedLetter& received, Duration took) {
  auto letter = decode(received.bytes, received.buffers);
  if (!letter.value) {
    self->state.record.undelivered.add(Undelivered::Why::kBadLetter);
    return reset_link(self, link, letter.malformed);
  }
  self->state.record.pulse->heard(word_of(letter.value->body), now_of(self));
  receive_letter(self, link, std::move(*letter.value), received.buffers.empty() ? Duration{} : took);
}

// Returns the limits of what a peer may send at once: little before the run has given it a number.
[[nodiscard]] const AssemblyLimits& assembly_limits(RouterSelf self, LinkId link) {
  const auto peer = self->state.links->identity(link);
  return peer && peer->process ? self->state.config.assembly : kStrangerAssembly;
}

// A handle got by a new connection compares equal to the dead one of an old connection, but is another (CAF.md §2).
[[nodiscard]] bool is_same_proxy(const Connection& connection, const caf::strong_actor_ptr& sender) {
  return caf::actor_cast<caf::strong_actor_ptr>(connection.handle).get() == sender.get();
}

// The connection a frame came over: a known one, or a stranger's that is let in to say Hello.
[[nodiscard]] std::optional<LinkId> link_of_sender(RouterSelf self) {
  const caf::strong_actor_ptr& sender = self->current_sender();
  if (!sender) return std::nullopt;
  const auto known = self->state.link_of.find(caf::actor_cast<caf::actor_addr>(sender));
  if (known != self->state.link_of.end()) {
    const LinkId old = known->second;
    if (is_same_proxy(self->state.connections.at(old), sender)) return old;
    reset_link(self, old, "its process has connected anew");
  }
  const LinkId link = open_connection(self, sender);
  if (self->state.links->stranger(link, now_of(self))) return link;
  self->state.record.undelivered.add(Undelivered::Why::kStranger);
  close_connection(self, link, Farewell::kSay);
  return std::nullopt;
}

// With a link, what waits for this process waits for room in its lane.
[[nodiscard]] bool is_behind_others(RouterSelf self, const Letter& letter) {
  return way_of(letter.body) == LetterWay::kLane && self->state.held.waiting->has_any(letter.to.process);
}

void let_wait(RouterSelf self, const Letter& letter) {
  auto& state = self->state;
  const bool has_room = state.held.waiting->add(letter.to.process, letter);
  if (kWaitingBytesMax.reached_if(!has_room)) return drop(self, letter, Undelivered::Why::kNoRoom);
  state.record.marks.waiting.note(state.trace, state.held.waiting->bytes(), state.config.waiting_bytes_max);
}

}  // namespace

void perform(RouterSelf self, std::vector<LinkEffect> effects) {
  for (const LinkEffect& effect : effects) std::visit(LinkPerformer{self}, effect);
  if (!self->state.links->is_settled()) look_soon(self);
}

void send_to_process(RouterSelf self, Letter letter) {
  auto& state = self->state;
  const ProcessIncarnation process = letter.to.process;
  int copies = state.config.filter ? state.config.filter(letter) : 1;
  const auto link = state.links->link_to(process);
  for (; copies > 0; --copies) {
    if (link && !is_behind_others(self, letter) && send_over(self, *link, letter)) continue;
    if (link || state.links->is_expected(process)) {
      let_wait(self, letter);
    } else {
      drop(self, letter, Undelivered::Why::kNobody);  // what it is owed is asked for by whoever takes over
    }
  }
}

void flush_waiting(RouterSelf self) {
  auto& state = self->state;
  WaitingLetters& waiting = *state.held.waiting;
  const auto is_there = [&links = *state.links](ProcessIncarnation process) {
    return links.is_expected(process) || links.link_to(process);
  };
  state.hints.keep_those(is_there);
  for (const ProcessIncarnation process : waiting.processes()) {
    if (!is_there(process)) state.record.undelivered.add(Undelivered::Why::kNobody, waiting.drop(process));
    const auto link = state.links->link_to(process);
    if (link) waiting.offer(process, [self, link](Letter& letter) { return send_over(self, *link, letter); });
  }
}

void answer_join(RouterSelf self, Letter letter) {
  auto& state = self->state;
  const auto* welcome = std::get_if<Welcome>(&letter.body);
  const auto nonce = welcome != nullptr ? welcome->nonce : std::get<JoinRefused>(letter.body).nonce;
  const auto asked = state.hints.joining.find(nonce);
  if (asked == state.hints.joining.end()) return route(self, std::move(letter));
  letter.from = state.links->self().process.value_or(ProcessIncarnation{});
  const LinkId link = asked->second;
  if (!send_over(self, link, letter)) state.record.undelivered.add(Undelivered::Why::kNobody);
  if (welcome != nullptr) perform(self, state.links->bind(link, welcome->process));
}

void receive_frame(RouterSelf self, const WireFrame& frame) {
  const auto link = link_of_sender(self);
  if (!link) return;
  const PeerReading reading(self->state.connections.at(*link).certificate);
  auto& assembler = self->state.connections.at(*link).assembler;
  assembler.allow(assembly_limits(self, *link));
  auto whole = assembler.accept(frame.bytes, now_of(self));
  auto& marks = self->state.record.marks;
  marks.assembling.note(self->state.trace, assembler.open_bytes(), self->state.config.assembly.open_bytes_max);
  if (!whole) {
    self->state.record.undelivered.add(Undelivered::Why::kBadFrame);
    return reset_link(self, *link, whole.failure().message);
  }
  if (const auto news = assembler.take_news()) receive_progress(self, *link, news->letter, news->received);
  if (!*whole) return;
  Assembled& assembled = **whole;
  receive_encoded(self, *link, {std::move(assembled.letter), std::move(assembled.buffers)}, assembled.took);
}

void receive_from_lane(RouterSelf self, const LaneLetter& received) {
  const LinkId link{received.link};
  const auto connection = self->state.connections.find(link);
  if (connection == self->state.connections.end()) return;  // it is over
  const PeerReading reading(connection->second.certificate);
  const auto took = std::chrono::duration_cast<Duration>(std::chrono::nanoseconds(received.transfer_ns));
  receive_encoded(self, link, received.letter, took);
}

void progress_on_lane(RouterSelf self, const LaneProgress& arriving) {
  const LinkId link{arriving.link};
  if (self->state.connections.contains(link)) receive_progress(self, link, arriving.letter, arriving.received);
}

void lane_changed(RouterSelf self, const LaneChange& change) {
  const LinkId link{change.link};
  if (!self->state.connections.contains(link)) return;
  switch (change.kind) {
    case LaneChange::Kind::kUp:
      if (const auto peer = self->state.links->identity(link); peer && peer->process) {
        trace_link(self, *peer->process, "lane up");
      }
      return;
    case LaneChange::Kind::kRoom: return flush_waiting(self);
    case LaneChange::Kind::kLost:
    case LaneChange::Kind::kEndedByPeer: {
      log_debug("router", "link ", change.link, " ends with its lane: ", change.reason);
      const bool was_said = change.kind == LaneChange::Kind::kEndedByPeer;
      return end_link(self, link, "its lane: " + change.reason, was_said ? Farewell::kWasSaid : Farewell::kSay);
    }
  }
}

void dial_ended(RouterSelf self, const Dialled& dialled) {
  auto& state = self->state;
  if (!dialled.peer) {
    log_debug("router", "dialling process ", dialled.process, ": ", dialled.reason);
    return perform(self, state.links->dialled(dialled.process, std::nullopt, now_of(self)));
  }
  const auto address = caf::actor_cast<caf::actor_addr>(dialled.peer);
  if (const auto known = state.link_of.find(address); known != state.link_of.end()) {
    const LinkId old = known->second;
    forget_connection(self, old);
    perform(self, state.links->lost(old, "dialled again", now_of(self)));
  }
  const LinkId link = open_connection(self, dialled.peer, dialled.endpoint);
  perform(self, state.links->dialled(dialled.process, link, now_of(self)));
}

void connection_down(RouterSelf self, const caf::down_msg& down) {
  auto& state = self->state;
  const auto found = state.link_of.find(down.source);
  if (found == state.link_of.end()) return local_down(self, down.source);
  const LinkId link = found->second;
  forget_connection(self, link);
  perform(self, state.links->lost(link, words_of_lost_link(down.reason), now_of(self)));
}

}  // namespace shoal
