// The order of the questions is that of their answers' names in the count of undelivered letters.
#include "runtime/router/letter_check.h"

#include "runtime/base/compose.h"
#include "runtime/cluster/watch/sender_check.h"

namespace shoal {
namespace {

[[nodiscard]] PeerRole as_certified(ProcessRole role) {
  switch (role) {
    case ProcessRole::kSpawner: return PeerRole::kSpawner;
    case ProcessRole::kStorage: return PeerRole::kStorage;
    case ProcessRole::kNode: break;
  }
  return PeerRole::kNode;
}

// A process joins as whom its Hello named.
[[nodiscard]] bool joins_as_itself(const LinkIdentity& sender, const MessageBody& body) {
  const auto* join = std::get_if<Join>(&body);
  return join == nullptr || (join->name == sender.name && join->role == sender.role);
}

// The files of a node's further workers bear their number behind its name.
[[nodiscard]] bool writes_own_file(const LinkIdentity& sender, const MessageBody& body) {
  const auto* chunk = std::get_if<FileChunk>(&body);
  if (chunk == nullptr || chunk->name == sender.name) return true;
  const std::string beginning = sender.name + "-";
  const bool is_numbered = chunk->name.starts_with(beginning) && chunk->name.size() > beginning.size();
  return is_numbered && chunk->name.find_first_not_of("0123456789", beginning.size()) == std::string::npos;
}

}  // namespace

bool answers_a_join(const MessageBody& body) {
  return std::holds_alternative<Welcome>(body) || std::holds_alternative<JoinRefused>(body);
}

std::optional<Undelivered::Why> objection_to(const Letter& letter, LinkId link, const LinkTable& links,
                                             const View& view) {
  const auto sender = links.identity(link);
  if (!sender || !may_say(*sender, letter.body)) return Undelivered::Why::kNotAllowed;
  const bool is_its_own = letter.from == sender->process.value_or(letter.from) &&
                          speaks_for_itself(letter.from, letter.body) && joins_as_itself(*sender, letter.body) &&
                          writes_own_file(*sender, letter.body) && is_replica_its_own(view, letter.from, letter.body);
  if (!is_its_own) return Undelivered::Why::kForged;
  const bool is_for_us = answers_a_join(letter.body) || links.self().process == letter.to.process;
  return is_for_us ? std::nullopt : std::optional(Undelivered::Why::kNobody);
}

std::optional<std::string> objection_to(const Hello& hello, const std::optional<PeerIdentity>& certified) {
  const PeerRole claimed = as_certified(hello.role);
  const bool is_farewell = hello.protocol_version == 0;
  const bool is_holder = certified && certified->role == claimed && certified->name == hello.name;
  if (is_farewell || is_holder) return std::nullopt;
  return compose("a Hello as ", role_text(claimed), " ", hello.name, ", whose certificate says ",
                 certified ? compose(role_text(certified->role), " ", certified->name) : "nothing: it is gone");
}

}  // namespace shoal
