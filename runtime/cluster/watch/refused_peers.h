// Lists the peers that processes of the run refuse because the bytes of such a peer crashed them: for `shoal
// status`.
//
// A process reports the peers that it refuses itself, as names alone. Its report lasts as long as the process
// is a member of the run: its next life reports anew, and so does every process to a spawner that was started again. A
// name that was put out of the run (`shoal evict --revoke`) is not listed: every process refuses it. Bounded
// (S-6) in all and for each process, so that one that lies fills neither the list nor the metrics. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "messages/address.h"
#include "messages/supervision.h"
#include "runtime/base/bound.h"
#include "runtime/base/compose.h"

namespace shoal {

// Returns "node/guest": the name whose certificates are refused; the subject of the event that says so.
[[nodiscard]] inline std::string peer_text(const PeerRefused& refusal) {
  return compose(refusal.role == ProcessRole::kStorage ? "storage/" : "node/", refusal.name);
}

class RefusedPeers {
 public:
  static inline const Bound kKeptMax{"supervision.refused_peers", 64};
  static inline const Bound kOfOneMax{"supervision.refused_peers_of_a_process", 16};
  static constexpr std::size_t kNameBytesMax = 64;  // no certificate has a longer one

  // Takes a refusal; `who` names the process that says so. Returns whether it is news to a person.
  bool hear(const PeerRefused& refusal, const std::string& who) {
    // Without the spawner nobody is in, and no peer is called nothing.
    const bool is_a_peer = refusal.role != ProcessRole::kSpawner && !refusal.name.empty();
    const auto is_same = [&refusal](const Told& told) { return told.refusal == refusal; };
    const auto is_of_it = [&refusal](const Told& told) { return told.refusal.process == refusal.process; };
    if (!is_a_peer || refusal.name.size() > kNameBytesMax || std::ranges::any_of(told_, is_same)) return false;
    const auto of_it = static_cast<std::size_t>(std::ranges::count_if(told_, is_of_it));
    if (kOfOneMax.is_reached_by(of_it) || kKeptMax.is_reached_by(told_.size())) return false;
    told_.push_back({refusal, who});
    return true;
  }
  // The process is in no longer.
  void forget(ProcessIncarnation process) {
    std::erase_if(told_, [process](const Told& told) { return told.refusal.process == process; });
  }
  // A node of that name was thrown out of the run.
  void forget_node(std::string_view name) {
    std::erase_if(told_, [name](const Told& told) {
      return told.refusal.role == ProcessRole::kNode && told.refusal.name == name;
    });
  }
  // "; refused for crashes: node/guest by node1, ..."; empty: nobody is.
  [[nodiscard]] std::string explain() const {
    std::string text;
    for (const Told& told : told_) {
      text += compose(text.empty() ? "; refused for crashes: " : ", ", peer_text(told.refusal), " by ", told.who);
    }
    return text.empty() ? text : text + " (the event peer_refused says what lets it in again)";
  }
  // Tells a person why, and what lets the peer in again.
  [[nodiscard]] static std::string reason(const PeerRefused& refusal, const std::string& who) {
    return compose(who, " crashed twice while it read what ", refusal.name,
                   " had sent, and refuses every certificate of ",
                   "that name; to let it in again, start it under another --name, or remove the file that the log of ",
                   who, " names and start ", who, " again");
  }

 private:
  struct Told {
    PeerRefused refusal;
    std::string who;
  };
  std::vector<Told> told_;
};

}  // namespace shoal
