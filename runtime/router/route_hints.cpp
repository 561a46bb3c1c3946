// Hints come from FetchState of a replica that starts, SaveShard of one that the view may not have yet, and Join.
#include "runtime/router/route_hints.h"

namespace shoal {

// Whoever saves the shard of a replica that has left may be anybody (shard_admission.h): it does not draw to itself
// what its saver is asked for.
void RouteHints::read(LinkId link, const LinkIdentity& sender, const MessageBody& body) {
  if (const auto* join = std::get_if<Join>(&body)) {
    if (kCountMax.is_reached_by(joining_.size())) joining_.erase(joining_.begin());
    joining_[join->nonce] = link;
  } else if (const auto* fetch = std::get_if<FetchState>(&body)) {
    note(fetch->replica, sender);
  } else if (const auto* shard = std::get_if<SaveShard>(&body)) {
    if (!fetching_.contains(shard->replica)) note(shard->replica, sender);
  }
}

void RouteHints::note(Incarnation replica, const LinkIdentity& sender) {
  if (!sender.process) return;
  if (kCountMax.is_reached_by(fetching_.size())) fetching_.erase(fetching_.begin());
  fetching_[replica] = *sender.process;
}

void RouteHints::link_ended(LinkId link) {
  std::erase_if(joining_, [link](const auto& join) { return join.second == link; });
}

void RouteHints::keep_those(const std::function<bool(ProcessIncarnation)>& is_there) {
  std::erase_if(fetching_, [&](const auto& fetch) { return !is_there(fetch.second); });
}

std::optional<ProcessIncarnation> RouteHints::process_of(Incarnation replica) const {
  const auto found = fetching_.find(replica);
  return found == fetching_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<LinkId> RouteHints::link_of_join(std::uint64_t nonce) const {
  const auto found = joining_.find(nonce);
  return found == joining_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace shoal
