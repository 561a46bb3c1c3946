// Letters to other processes: over the process's link, or into a queue until there is one; that one is bounded.
//
// Letters of a full lane wait behind the one that it did not take, so that each way keeps its order (P-9a); so do those
// behind one whose tensors are on a device and are being copied to the host. This is the one place where values leave a
// device for another process. Pure but for the connections and copies, which begin at once.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "messages/letter.h"
#include "runtime/router/connections.h"
#include "runtime/router/router_notes.h"
#include "runtime/router/waiting_letters.h"
#include "runtime/transport/links.h"

namespace shoal {

// How many copies of an outgoing letter to another process are sent: 1 normally. Tests lose (0) and double (2) with it.
using LetterFilter = std::function<int(const Letter&)>;

inline const Bound kWaitingBytesMax{"links.bytes_for_absent_peers", std::uint64_t{256} << 20};

class OutgoingLetters {
 public:
  struct Settings {
    LetterFilter filter;  // empty: one copy of everything
    std::size_t waiting_bytes_max = kWaitingBytesMax;
  };
  struct Parts {
    RouterEdge& edge;
    const LinkTable& links;
    Connections& connections;
    RouterNotes& notes;
  };
  OutgoingLetters(Settings settings, const Parts& parts)
      : settings_(std::move(settings)),
        edge_(&parts.edge),
        links_(&parts.links),
        connections_(&parts.connections),
        notes_(&parts.notes),
        waiting_(settings_.waiting_bytes_max) {}

  // To letter.to.process, which is another one.
  void send(Letter letter);
  // Sends what waits and can go; forgets what waits for processes that left the run.
  void flush();

  // A copy that was asked for is there; none: the device failed, and whatever needs it is dropped.
  void copied(const std::shared_ptr<const ResidentTensor>& tensor, const TensorBlob& copy);

  // Says if the process is in the run, or linked.
  [[nodiscard]] bool is_there(ProcessIncarnation process) const {
    return links_->is_expected(process) || links_->link_to(process);
  }
  [[nodiscard]] bool has_any() const { return !waiting_.processes().empty(); }

 private:
  [[nodiscard]] bool is_behind_others(const Letter& letter) const;
  [[nodiscard]] bool send_over(LinkId link, Letter& letter);
  void let_wait(const Letter& letter);

  Settings settings_;
  RouterEdge* edge_;
  const LinkTable* links_;
  Connections* connections_;
  RouterNotes* notes_;
  WaitingLetters waiting_;
  std::set<std::shared_ptr<const ResidentTensor>> being_copied_;  // each is in a letter that waits, or was
};

}  // namespace shoal
