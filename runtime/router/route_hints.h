// Routes that no journal says: a replica that fetches its state is no member yet, one that saves may not be in this
// view yet, a joining node has no number.
//
// Nothing of a process stays when it has left, and each kind of hint is bounded: the oldest is forgotten. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "messages/letter.h"
#include "runtime/base/bound.h"
#include "runtime/transport/links.h"

namespace shoal {

class RouteHints {
 public:
  static inline const Bound kCountMax{"links.route_hints", 4096};

  // Reads what a verified letter from another process says of routes.
  void read(LinkId link, const LinkIdentity& sender, const MessageBody& body);
  void added(Incarnation replica) { fetching_.erase(replica); }  // the journal says where it is from now on
  void link_ended(LinkId link);
  void keep_those(const std::function<bool(ProcessIncarnation)>& is_there);

  // Returns the process of a replica that fetches its state, or saves it.
  [[nodiscard]] std::optional<ProcessIncarnation> process_of(Incarnation replica) const;
  // Returns the link that the newest Join with this nonce came by.
  [[nodiscard]] std::optional<LinkId> link_of_join(std::uint64_t nonce) const;

  [[nodiscard]] std::size_t size() const { return fetching_.size() + joining_.size(); }

 private:
  void note(Incarnation replica, const LinkIdentity& sender);

  std::map<Incarnation, ProcessIncarnation> fetching_;
  std::map<std::uint64_t, LinkId> joining_;  // by Join::nonce
};

}  // namespace shoal
