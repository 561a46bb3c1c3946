// The life of links, and the roles that may speak over them.
#include "runtime/transport/links.h"

#include <algorithm>
#include <utility>

#include "messages/catalogue/facts.h"
#include "messages/values/one_of_members.h"
#include "runtime/base/compose.h"
#include "runtime/base/text/open_port.h"
#include "runtime/transport/sockets.h"

namespace shoal {
namespace {

void append(std::vector<LinkEffect>& to, std::vector<LinkEffect> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

SHOAL_INSTANTIATE_ONE_OF(LinkEffect);

bool dials(ProcessRole self_role, std::optional<ProcessIncarnation> self, ProcessRole peer_role,
           ProcessIncarnation peer) {
  if (self_role == ProcessRole::kSpawner) return false;
  if (peer_role == ProcessRole::kSpawner) return true;
  if (self_role == ProcessRole::kStorage || !self) return false;
  if (peer_role == ProcessRole::kStorage) return true;
  return *self < peer;
}

bool may_say(const LinkIdentity& sender, const MessageBody& body) {
  const Sayer sayers = facts_of(body).said_by;
  if (sender.role == ProcessRole::kSpawner) return includes(sayers, Sayer::kSpawner);
  if (!sender.process) return includes(sayers, Sayer::kNewcomer);
  const bool is_storage = sender.role == ProcessRole::kStorage;
  if (is_given_by_storage(body).value_or(is_storage) != is_storage) return false;  // neither gives for the other (P-10)
  return includes(sayers, is_storage ? Sayer::kStorage : Sayer::kNode);
}

bool speaks_for_itself(ProcessIncarnation from, const MessageBody& body) {
  return sending_process(body).value_or(from) == from;
}

LinkTable::LinkTable(LinkSelf self, LinkLimits limits, std::uint64_t jitter_seed)
    : self_(std::move(self)), limits_(limits), jitter_(jitter_seed) {}

void LinkTable::set_spawner(const Endpoint& endpoint) {
  Destination& spawner = destinations_[kSpawnerProcess];
  spawner.role = ProcessRole::kSpawner;
  spawner.endpoint = endpoint;
  decide_who_dials();
}

void LinkTable::decide_who_dials() {
  for (auto& [process, destination] : destinations_) {
    destination.we_dial = dials(self_.role, self_.process, destination.role, process);
  }
}

Hello LinkTable::own_hello(bool is_answer) const {
  return Hello{kProtocolVersion, self_.run,  self_.term, self_.process.value_or(ProcessIncarnation{}),
               self_.role,       self_.name, is_answer,  0};
}

std::vector<LinkEffect> LinkTable::identify(ProcessIncarnation process, RunId run, Term term, Instant /*now*/) {
  std::vector<LinkEffect> out;
  self_.term = std::max(self_.term, term);
  if (self_.process == process && self_.run == run) return out;
  self_.process = process;
  self_.run = run;
  if (const auto impostor = link_to(process)) append(out, drop(*impostor, "it has this process's number"));
  decide_who_dials();
  for (const auto& [link, state] : links_) {
    if (state.greeted && !state.claimed) out.emplace_back(SendHello{link, own_hello(true)});
  }
  return out;
}

std::vector<LinkEffect> LinkTable::peers(const Peers& peers) {
  std::vector<LinkEffect> out;
  const bool is_old = peers.term < peers_term_ || (peers.term == peers_term_ && peers.serial <= peers_serial_);
  if (is_old || (self_.run != RunId{} && peers.run != self_.run)) return out;
  peers_term_ = peers.term;
  peers_serial_ = peers.serial;
  std::map<ProcessIncarnation, Destination> next;
  if (const auto spawner = destinations_.find(kSpawnerProcess); spawner != destinations_.end()) next.insert(*spawner);
  for (const Peer& peer : peers.peers) {
    if (peer.process == kSpawnerProcess || peer.process == self_.process) continue;
    Destination& destination = next[peer.process];
    if (const auto known = destinations_.find(peer.process); known != destinations_.end()) destination = known->second;
    destination.role = peer.role;
    destination.name = peer.name;
    destination.endpoint = peer.endpoint;
  }
  std::vector<LinkId> ended, taken;
  for (const auto& [process, link] : up_) {
    if (process != kSpawnerProcess && destinations_.contains(process) && !next.contains(process)) ended.push_back(link);
  }
  for (auto& [process, left] : destinations_) {
    if (!next.contains(process)) remember_former(process, {left.role, std::move(left.name)});
  }
  destinations_ = std::move(next);
  for (const auto& [process, link] : up_) {
    if (is_anothers(process, links_.at(link).identity)) taken.push_back(link);
  }
  for (const LinkId link : ended) append(out, drop(link, "the peer has left the run"));
  for (const LinkId link : taken) append(out, drop(link, "its number is that of another process"));
  append(out, answer_named());
  decide_who_dials();
  return out;
}

std::vector<LinkEffect> LinkTable::answer_named() {
  std::vector<LinkEffect> out;
  std::vector<LinkId> answered;
  for (const auto& [link, state] : links_) {
    if (state.claimed && named(*state.claimed)) answered.push_back(link);
  }
  for (const LinkId link : answered) {
    const auto found = links_.find(link);
    if (found == links_.end()) continue;  // a newer one of the same process has its place
    Link& state = found->second;
    const ProcessIncarnation process = *std::exchange(state.claimed, std::nullopt);
    if (is_anothers(process, state.identity)) {
      append(out, drop(link, "its number is that of another process"));
      continue;
    }
    state.answered = true;
    out.emplace_back(SendHello{link, own_hello(true)});
    append(out, put_up(link, process));
  }
  return out;
}

// The oldest are forgotten first. A number is given once, so what is remembered of one stays true.
void LinkTable::remember_former(ProcessIncarnation process, Named named) {
  const bool is_known = std::ranges::find(former_, process, &decltype(former_)::value_type::first) != former_.end();
  if (process == kSpawnerProcess || is_known) return;
  if (kFormerNamesMax.is_reached_by(former_.size())) former_.pop_front();
  former_.emplace_back(process, std::move(named));
}

std::optional<LinkTable::Named> LinkTable::named(ProcessIncarnation process) const {
  const auto known = destinations_.find(process);
  if (known != destinations_.end()) return Named{known->second.role, known->second.name};
  const auto former = std::ranges::find(former_, process, &decltype(former_)::value_type::first);
  return former == former_.end() ? std::nullopt : std::optional(former->second);
}

// A process has the name and the role of its certificate for as long as it lives.
bool LinkTable::is_anothers(ProcessIncarnation process, const LinkIdentity& claimed) const {
  if (process == kSpawnerProcess) return false;
  const auto known = named(process);
  return known && (known->role != claimed.role || known->name != claimed.name);
}

// The process may have joined a moment ago, and Peers be on their way; or nobody has that number.
bool LinkTable::waits_for_its_name(const Hello& hello) const {
  const bool has_number = hello.role == ProcessRole::kNode && hello.process != ProcessIncarnation{};
  return self_.role == ProcessRole::kStorage && has_number && !named(hello.process);
}

void LinkTable::back_off(Destination& destination, Instant now) {
  Duration wait = limits_.backoff_first;
  for (int i = 0; i < destination.failures && wait < limits_.backoff_last; ++i) wait *= 2;
  wait = std::min(wait, limits_.backoff_last);
  destination.state = DialState::kIdle;
  destination.greeting.reset();
  destination.due = now + jitter_.spread(wait, 0.5, 1.0);
  ++destination.failures;
}

std::vector<LinkEffect> LinkTable::tick(Instant now, const Unanswered& unanswered) {
  std::vector<LinkEffect> out;
  for (auto& [process, destination] : destinations_) {
    if (destination.state == DialState::kUp || now < destination.due) continue;
    if (destination.state == DialState::kGreeting) {
      append(out, drop(*destination.greeting, "no answer to our Hello"));
      back_off(destination, now);
    } else if (destination.state == DialState::kDialling) {
      back_off(destination, now);
    } else if (destination.we_dial) {
      destination.state = DialState::kDialling;
      destination.due = now + limits_.dial_timeout;
      out.emplace_back(DialPeer{process, destination.endpoint});
    }
  }
  ask_links(unanswered, now);
  complain(out, now);
  std::vector<std::pair<LinkId, const char*>> silent;
  for (const auto& [link, state] : links_) {
    if (now - state.began < limits_.hello_timeout) continue;
    if (!state.greeted && !state.dialled_to) silent.emplace_back(link, "no Hello");
    if (state.claimed) silent.emplace_back(link, "its number is nobody's");
  }
  for (const auto& [link, why] : silent) append(out, drop(link, why));
  return out;
}

std::string unreachable_text(const std::string& peer, const Endpoint& endpoint, bool we_dial) {
  if (!we_dial) return compose(peer, " does not reach this process: open the port of --listen for it");
  return compose("cannot reach ", peer, " at ", host_port_text({endpoint.host, endpoint.port}), ": ",
                 open_port_text(endpoint.host, endpoint.port), " for this machine");
}

bool LinkTable::is_settled() const {
  return std::ranges::all_of(destinations_, [this](const auto& at) { return up_.contains(at.first); });
}

std::string unanswered_text(const std::string& peer, const Endpoint& endpoint) {
  return compose("nothing that this process sends to ", peer,
                 " comes through any more: look at what stands between "
                 "this machine and ",
                 endpoint.host.empty() ? std::string("it") : endpoint.host);
}

void LinkTable::ask_links(const Unanswered& unanswered, Instant now) {
  for (auto& [process, destination] : destinations_) {
    const auto link = up_.find(process);
    if (link == up_.end()) destination.unanswered = Duration::zero();
    const bool is_due =
        unanswered && link != up_.end() && now - destination.unanswered_at >= limits_.complain_every / 2;
    if (!is_due) continue;
    destination.unanswered_at = now;
    destination.unanswered = unanswered(link->second);
  }
}

// Without the spawner there is no process to complain to, and this process may be the one that is not reached.
void LinkTable::complain(std::vector<LinkEffect>& out, Instant now) {
  const auto is_cut = [this](const Destination& to) { return to.unanswered >= limits_.complain_after; };
  const auto spawner = destinations_.find(kSpawnerProcess);
  const bool is_heard = up_.contains(kSpawnerProcess) && (spawner == destinations_.end() || !is_cut(spawner->second));
  for (auto& [process, destination] : destinations_) {
    const bool is_up = up_.contains(process);
    const bool is_told_of = is_up ? is_cut(destination) && (is_heard || process == kSpawnerProcess) : is_heard;
    if (!is_told_of) {
      destination.unreachable_since.reset();
      if (!is_up || !is_cut(destination)) destination.told.clear();
      continue;
    }
    if (!is_up && !destination.unreachable_since) destination.unreachable_since = now;
    const Duration since = is_up ? Duration::zero() : now - *destination.unreachable_since;
    const bool is_due = is_up || since >= limits_.complain_after;
    if (!is_due || now - destination.complained_at < limits_.complain_every) continue;
    destination.complained_at = now;
    std::string text = is_up ? unanswered_text(destination.name, destination.endpoint)
                             : unreachable_text(destination.name, destination.endpoint, destination.we_dial);
    const bool is_news = text != std::exchange(destination.told, text);
    out.emplace_back(ReportUnreachable{process, since, is_news ? std::move(text) : std::string()});
  }
}

std::vector<LinkEffect> LinkTable::dialled(ProcessIncarnation process, std::optional<LinkId> link, Instant now) {
  const auto found = destinations_.find(process);
  if (found == destinations_.end() || found->second.state == DialState::kUp) {
    if (!link) return {};
    return {CloseLink{*link, "no longer wanted"}};
  }
  if (!link) {
    back_off(found->second, now);
    return {};
  }
  found->second.state = DialState::kGreeting;
  found->second.due = now + limits_.hello_timeout;
  found->second.greeting = *link;
  Link& state = links_[*link];
  state = Link{};
  state.dialled_to = process;
  state.began = now;
  state.answered = true;
  return {SendHello{*link, own_hello(false)}};
}

bool LinkTable::stranger(LinkId link, Instant now) {
  const auto strangers =
      std::count_if(links_.begin(), links_.end(), [](const auto& known) { return !known.second.identity.process; });
  if (kStrangersMax.reached_if(static_cast<std::size_t>(strangers) >= limits_.strangers_max)) return false;
  links_[link].began = now;
  return true;
}

std::optional<std::string> LinkTable::objection(const Link& link, const Hello& hello) const {
  if (hello.protocol_version != kProtocolVersion) {
    return compose("protocol version ", hello.protocol_version, ", ours is ", kProtocolVersion);
  }
  if (hello.run != self_.run && hello.run != RunId{} && self_.run != RunId{}) return "another run";
  const bool claims_spawner = hello.role == ProcessRole::kSpawner;
  if (claims_spawner && self_.role == ProcessRole::kSpawner) return "a second spawner";
  if (claims_spawner && link.dialled_to != kSpawnerProcess) return "the spawner dials nobody";
  if (claims_spawner && hello.term < self_.term) return compose("term ", hello.term, " is over");
  if (!claims_spawner && link.dialled_to == kSpawnerProcess) return "not the spawner";
  // A peer that has not read its Welcome yet has no number; it says Hello again as soon as it has one.
  const bool has_number = claims_spawner || hello.process != ProcessIncarnation{};
  if (link.dialled_to && has_number && *link.dialled_to != hello.process) return "another process at this address";
  if (!has_number) return std::nullopt;
  if (!claims_spawner && hello.process == self_.process) return "the number of this process";
  if (link.identity.process && *link.identity.process != hello.process) return "another number than before";
  const bool is_taken = is_anothers(hello.process, {hello.role, hello.process, hello.name});
  if (is_taken && self_.role != ProcessRole::kSpawner) return "the number of another process";
  return std::nullopt;
}

// The spawner hears the Join of a process whose number it does not believe, as that of one that has none: it gets a
// number of its own.
std::vector<LinkEffect> LinkTable::hello(LinkId link, const Hello& hello, Instant now) {
  const auto found = links_.find(link);
  if (found == links_.end()) return {};
  Link& state = found->second;
  if (hello.protocol_version == 0) return {CloseLink{link, "the peer closed it", true}};
  if (const auto why_not = objection(state, hello)) return {CloseLink{link, *why_not}};
  std::vector<LinkEffect> out;
  const bool claims_number = hello.role == ProcessRole::kSpawner || hello.process != ProcessIncarnation{};
  state.greeted = true;
  state.identity.role = hello.role;
  state.identity.name = hello.name;
  if (hello.role == ProcessRole::kSpawner) {
    self_.term = std::max(self_.term, hello.term);
    if (self_.run == RunId{}) self_.run = hello.run;
  }
  if (waits_for_its_name(hello)) {
    if (!state.claimed) state.began = now;
    state.claimed = hello.process;
    return out;
  }
  state.claimed.reset();
  if (!hello.is_answer || !state.answered) {
    state.answered = true;
    out.emplace_back(SendHello{link, own_hello(true)});
  }
  if (claims_number && !is_anothers(hello.process, state.identity)) append(out, put_up(link, hello.process));
  return out;
}

std::vector<LinkEffect> LinkTable::bind(LinkId link, ProcessIncarnation process) {
  const auto found = links_.find(link);
  if (found == links_.end() || !found->second.greeted) return {};
  return put_up(link, process);
}

std::vector<LinkEffect> LinkTable::put_up(LinkId link, ProcessIncarnation process) {
  std::vector<LinkEffect> out;
  Link& state = links_.at(link);
  const auto before = up_.find(process);
  if (before != up_.end() && before->second == link) return out;
  if (state.identity.process && *state.identity.process != process) release(*state.identity.process, link);
  state.identity.process = process;
  if (before != up_.end()) {
    links_.erase(before->second);
    out.emplace_back(CloseLink{before->second, "replaced by a newer link"});
  }
  up_[process] = link;
  if (const auto destination = destinations_.find(process); destination != destinations_.end()) {
    destination->second.state = DialState::kUp;
    destination->second.failures = 0;
    destination->second.greeting.reset();
  }
  out.emplace_back(LinkUp{link, process});
  return out;
}

std::vector<LinkEffect> LinkTable::drop(LinkId link, const std::string& reason) {
  const auto found = links_.find(link);
  if (found == links_.end()) return {};
  if (const auto process = found->second.identity.process) release(*process, link);
  links_.erase(found);
  return {CloseLink{link, reason}};
}

// The link is no longer the process's; another may be, and stays. Whom this side dials it dials at the next tick.
void LinkTable::release(ProcessIncarnation process, LinkId link) {
  const auto up = up_.find(process);
  if (up == up_.end() || up->second != link) return;
  up_.erase(up);
  const auto destination = destinations_.find(process);
  if (destination == destinations_.end()) return;
  destination->second.state = DialState::kIdle;
  destination->second.due = {};
}

std::vector<LinkEffect> LinkTable::lost(LinkId link, const std::string& reason, Instant now) {
  std::vector<LinkEffect> out;
  const auto found = links_.find(link);
  if (found == links_.end()) return out;
  const auto process = found->second.identity.process;
  const auto dialled_to = found->second.dialled_to;
  const bool was_up = process && up_.contains(*process) && up_.at(*process) == link;
  if (was_up) up_.erase(*process);
  links_.erase(found);
  const auto wanted = destinations_.find(was_up ? *process : dialled_to.value_or(ProcessIncarnation{}));
  if ((was_up || dialled_to) && wanted != destinations_.end()) back_off(wanted->second, now);
  const bool matters = self_.role == ProcessRole::kSpawner || process == kSpawnerProcess;
  if (was_up && matters) out.emplace_back(ReportLost{*process, reason});
  return out;
}

std::optional<LinkId> LinkTable::link_to(ProcessIncarnation process) const {
  const auto found = up_.find(process);
  return found == up_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<LinkIdentity> LinkTable::identity(LinkId link) const {
  const auto found = links_.find(link);
  if (found == links_.end() || !found->second.greeted) return std::nullopt;
  return found->second.identity;
}

std::optional<ProcessIncarnation> LinkTable::storage() const {
  if (self_.role == ProcessRole::kStorage) return self_.process;
  for (const auto& [process, destination] : destinations_) {
    if (destination.role == ProcessRole::kStorage) return process;
  }
  return std::nullopt;
}

bool LinkTable::is_expected(ProcessIncarnation process) const {
  return process == kSpawnerProcess || destinations_.contains(process);
}

}  // namespace shoal
