// The one thing routers exchange: an addressed message.
//
// An actor gives its router a Letter; the router delivers the body to a local actor, or encodes it (codec.h) and sends
// it to the router of the other process, which delivers it there. Bodies name their senders themselves, so that actors
// receive plain structs.
#pragma once

#include "messages/address.h"
#include "messages/catalogue/rows.h"
#include "messages/cluster.h"
#include "messages/journal.h"
#include "messages/metrics.h"
#include "messages/operate.h"
#include "messages/pipeline.h"
#include "messages/storage.h"
#include "messages/supervision.h"
#include "messages/sync.h"
#include "messages/values/one_of.h"

namespace shoal {

// One alternative for each row of the catalogue.
template <class Nothing, class... Types>
struct MessageTypes {
  using Body = OneOf<Types...>;
};
#define SHOAL_TYPE(Type, ...) , Type
using MessageBody = MessageTypes<void SHOAL_MESSAGES(SHOAL_TYPE)>::Body;
#undef SHOAL_TYPE

struct Letter {
  ProcessIncarnation from;
  Address to;
  MessageBody body;
  std::uint64_t span = 0;  // joins the send with its receive in a trace; 0: not traced
  friend bool operator==(const Letter&, const Letter&) = default;
};

}  // namespace shoal
