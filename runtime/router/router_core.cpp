// Links of the mail room: the effects of the link table, greetings and farewells, and what is believed of peers.
#include "runtime/router/router_core.h"

#include <utility>

#include "messages/catalogue/facts.h"
#include "messages/codec.h"
#include "runtime/base/log.h"
#include "runtime/pipeline/state_on_its_way.h"
#include "runtime/router/letter_check.h"
#include "runtime/transport/guard/peer_note.h"

namespace shoal {

// Performs what the link table wants done, each effect completely before the next.
struct RouterCore::Performer {
  RouterCore& core;
  Instant now;

  void operator()(const DialPeer& effect) const { core.edge_->dial(effect); }
  void operator()(const SendHello& effect) const {
    const auto from = core.links_.self().process.value_or(ProcessIncarnation{});
    Letter letter{from, {}, core.connections_.with_lane_key(effect.link, effect.hello)};
    (void)core.connections_.send(effect.link, letter);
  }
  void operator()(const LinkUp& effect) const { core.link_up(effect.process, now); }
  void operator()(const CloseLink& effect) const {
    log_warn("router", "link ", effect.link.value, " reset: ", effect.reason);
    core.end_link(effect.link, effect.reason, effect.was_farewell ? Farewell::kWasSaid : Farewell::kSay, now);
  }
  void operator()(const ReportLost& effect) const {
    core.notes_.link(effect.process, "lost: " + effect.reason);
    const LinkSelf& here = core.links_.self();
    const Address to = here.role == ProcessRole::kSpawner ? to_supervisor()
                                                          : to_node_agent(here.process.value_or(ProcessIncarnation{}));
    core.mail_.deliver({{}, to, ProcessLost{effect.process, effect.reason}}, {}, now);
  }
  void operator()(const ReportUnreachable& effect) const {
    const auto process = core.links_.self().process.value_or(ProcessIncarnation{});
    const auto since_ms = static_cast<std::uint64_t>(milliseconds(effect.since));
    log_debug("router", "process ", effect.process, " cannot be reached since ", since_ms, " ms");
    if (!effect.remedy.empty()) log_warn("router", effect.remedy);
    if (effect.process == kSpawnerProcess) return;
    core.mail_.route({{}, to_supervisor(), PeerUnreachable{process, effect.process, since_ms}}, now);
  }
};

RouterCore::RouterCore(const RouterSettings& settings, RouterEdge& edge)
    : has_certificates_(settings.has_certificates),
      numbered_(settings.numbered),
      edge_(&edge),
      notes_{ActorTrace(settings.tracer, "router"), enter(settings.board, "router")},
      look_(edge),
      links_(settings.self, settings.links, settings.jitter_seed),
      connections_(settings.assembly, settings.lanes, edge, notes_),
      outgoing_({settings.filter, settings.waiting_bytes_max}, {edge, links_, connections_, notes_}),
      mail_({settings.requests, settings.held_bytes_max, settings.revoked},
            {edge, notes_, look_, links_, connections_, outgoing_, hints_}) {
  if (settings.spawner) links_.set_spawner(*settings.spawner);
}

void RouterCore::tick(std::size_t waiting, Instant now) {
  if (!look_.is_awaited(now)) return;
  notes_.pulse->waiting(waiting);
  perform(links_.tick(now, [this](LinkId link) { return edge_->unanswered(link); }), now);
  mail_.send_again(now);
  flush();
  mail_.look_after_locals(now);
  if (const auto news = notes_.undelivered.news(now)) log_info("router", "not delivered: ", *news);
  look_.look_again(!links_.is_settled() || mail_.has_retries() || outgoing_.has_any(), now);
}

void RouterCore::perform(std::vector<LinkEffect> effects, Instant now) {
  for (const LinkEffect& effect : effects) std::visit(Performer{*this, now}, effect);
  if (!links_.is_settled()) look_.look_soon(now);
}

void RouterCore::link_up(ProcessIncarnation process, Instant now) {
  notes_.link(process, "up");
  flush();
  if (process == kSpawnerProcess) mail_.fetch_journal_at_once(now);
}

void RouterCore::flush() {
  hints_.keep_those([this](ProcessIncarnation process) { return outgoing_.is_there(process); });
  mail_.forget_absent();
  outgoing_.flush();
}

void RouterCore::identify(ProcessIncarnation process, RunId run, Term term, Instant now) {
  perform(links_.identify(process, run, term, now), now);
  mail_.fetch_journal(now);
}

void RouterCore::post(Letter letter, Instant now) {
  notes_.pulse->heard(facts_of(letter.body).name, now);
  if (answers_a_join(letter.body)) return answer_join(std::move(letter), now);
  const auto* peers = std::get_if<Peers>(&letter.body);
  const bool is_of_links = peers != nullptr && links_.self().process == letter.to.process;
  if (is_of_links) {
    if (numbered_) numbered_(*peers);
    return perform(links_.peers(*peers), now);
  }
  mail_.post(std::move(letter), now);
}

// Over the link that a joining node's Join came by; it has no number yet, or is about to get one.
void RouterCore::answer_join(Letter letter, Instant now) {
  const auto* welcome = std::get_if<Welcome>(&letter.body);
  const auto nonce = welcome != nullptr ? welcome->nonce : std::get<JoinRefused>(letter.body).nonce;
  const auto link = hints_.link_of_join(nonce);
  if (!link) return mail_.route(std::move(letter), now);
  letter.from = links_.self().process.value_or(ProcessIncarnation{});
  if (!connections_.send(*link, letter)) notes_.undelivered.add(Undelivered::Why::kNobody);
  if (welcome != nullptr) perform(links_.bind(*link, welcome->process), now);
}

LinkId RouterCore::open(std::optional<Endpoint> dialled, std::shared_ptr<const std::string> certificate) {
  return connections_.open(std::move(dialled), std::move(certificate));
}

bool RouterCore::accept(LinkId link, Instant now) {
  if (links_.stranger(link, now)) return true;
  notes_.undelivered.add(Undelivered::Why::kStranger);
  close(link, Farewell::kSay, now);
  return false;
}

void RouterCore::dialled(ProcessIncarnation process, LinkId link, Instant now) {
  perform(links_.dialled(process, link, now), now);
}

void RouterCore::dial_failed(ProcessIncarnation process, const std::string& why, Instant now) {
  log_debug("router", "dialling process ", process, ": ", why);
  perform(links_.dialled(process, std::nullopt, now), now);
}

void RouterCore::link_down(LinkId link, const std::string& reason, Instant now) {
  forget(link, now);
  perform(links_.lost(link, reason, now), now);
}

void RouterCore::reset(LinkId link, const std::string& reason, Instant now) {
  log_warn("router", "link ", link.value, " reset: ", reason);
  end_link(link, reason, Farewell::kSay, now);
}

void RouterCore::end_link(LinkId link, const std::string& reason, Farewell said, Instant now) {
  close(link, said, now);
  perform(links_.lost(link, reason, now), now);
}

void RouterCore::close(LinkId link, Farewell said, Instant now) {
  if (said == Farewell::kSay) connections_.say_farewell(link);
  forget(link, now);
}

void RouterCore::forget(LinkId link, Instant now) {
  auto lost = connections_.close(link);
  hints_.link_ended(link);
  mail_.route_all(std::move(lost), now);
}

void RouterCore::receive_frame(LinkId link, std::span<const char> frame, Instant now) {
  const PeerReading reading(connections_.certificate(link));
  const auto peer = links_.identity(link);
  auto whole = connections_.accept(link, frame, peer && peer->process, now);
  if (!whole) {
    notes_.undelivered.add(Undelivered::Why::kBadFrame);
    return reset(link, whole.failure().message, now);
  }
  if (const auto news = connections_.take_news(link)) receive_progress(link, *news, now);
  if (!*whole) return;
  Assembled& assembled = **whole;
  receive(link, {std::move(assembled.letter), std::move(assembled.buffers)}, assembled.took, now);
}

void RouterCore::receive_from_lane(LinkId link, const EncodedLetter& letter, Duration transfer, Instant now) {
  if (!connections_.contains(link)) return;
  const PeerReading reading(connections_.certificate(link));
  receive(link, letter, transfer, now);
}

void RouterCore::progress_on_lane(LinkId link, const Arriving& part, Instant now) {
  if (connections_.contains(link)) receive_progress(link, part, now);
}

void RouterCore::receive(LinkId link, const EncodedLetter& received, Duration transfer, Instant now) {
  auto letter = decode(received.bytes, received.buffers);
  if (!letter.value) {
    notes_.undelivered.add(Undelivered::Why::kBadLetter);
    return reset(link, letter.malformed, now);
  }
  notes_.pulse->heard(facts_of(letter.value->body).name, now);
  receive_letter(link, std::move(*letter.value), received.buffers.empty() ? Duration{} : transfer, now);
}

void RouterCore::receive_letter(LinkId link, Letter letter, Duration transfer, Instant now) {
  if (std::holds_alternative<Hello>(letter.body)) return receive_hello(link, letter, now);
  if (const auto why_not = objection_to(letter, link, links_, mail_.view())) return notes_.drop(letter, *why_not);
  hints_.read(link, *links_.identity(link), letter.body);
  trace_letter(notes_.trace, TraceKind::kReceive, letter);
  const auto* shard = std::get_if<SaveShard>(&letter.body);
  if (shard != nullptr) mail_.route(*progress_of(letter, shard->image.byte_count(), transfer), now);
  if (const auto* peers = std::get_if<Peers>(&letter.body)) return perform(links_.peers(*peers), now);
  if (const auto* welcome = std::get_if<Welcome>(&letter.body)) read_own_number(*welcome, now);
  mail_.receive(std::move(letter), transfer, now);
}

void RouterCore::read_own_number(const Welcome& welcome, Instant now) {
  mail_.saw(welcome.position);
  perform(links_.identify(welcome.process, welcome.run, welcome.term, now), now);
}

void RouterCore::receive_hello(LinkId link, const Letter& letter, Instant now) {
  const auto& hello = std::get<Hello>(letter.body);
  const auto why_not = has_certificates_ ? objection_to(hello, edge_->certified(link)) : std::nullopt;
  trace_letter(notes_.trace, why_not ? TraceKind::kDrop : TraceKind::kReceive, letter);
  if (!why_not) {
    perform(links_.hello(link, hello, now), now);
    return connections_.open_lane(link, hello);
  }
  notes_.undelivered.add(Undelivered::Why::kForged);
  reset(link, *why_not, now);
}

// A letter whose tensors are not there yet is judged like the whole one, and refused when it is whole.
void RouterCore::receive_progress(LinkId link, const Arriving& part, Instant now) {
  const auto letter = decode(part.letter.bytes, part.letter.buffers);
  if (!letter.value || objection_to(*letter.value, link, links_, mail_.view())) return;
  auto progress = progress_of(*letter.value, part.received, part.took);
  if (!progress) return;
  // Storage asks again for a piece of which nothing comes.
  const bool is_shard = std::holds_alternative<SaveShard>(letter.value->body);
  if (is_shard) mail_.route({letter.value->from, letter.value->to, progress->body}, now);
  mail_.route(std::move(*progress), now);
}

void RouterCore::lane_up(LinkId link) {
  const auto peer = links_.identity(link);
  if (connections_.contains(link) && peer && peer->process) notes_.link(*peer->process, "lane up");
}

void RouterCore::lane_has_room(LinkId link) {
  if (connections_.contains(link)) flush();
}

void RouterCore::lane_ended(LinkId link, const std::string& reason, bool was_said, Instant now) {
  if (!connections_.contains(link)) return;
  log_debug("router", "link ", link.value, " ends with its lane: ", reason);
  end_link(link, "its lane: " + reason, was_said ? Farewell::kWasSaid : Farewell::kSay, now);
}

}  // namespace shoal
