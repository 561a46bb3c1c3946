// The catalogue says which field of a body names its sender.
#include "runtime/cluster/watch/sender_check.h"

#include "messages/catalogue/facts.h"

namespace shoal {
bool is_replica_its_own(const View& view, ProcessIncarnation from, const MessageBody& body) {
  const auto claimed = sending_replica(body);
  if (!claimed) return true;
  if (*claimed == Incarnation{}) return from == kSpawnerProcess;
  const auto member = view.find(*claimed);
  return !member || member->process == from;
}

}  // namespace shoal
