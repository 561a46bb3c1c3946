// Makes what an actor hears of what a test says to it: letters reach an actor as its router delivers them, all other
// messages as they are.
#pragma once

#include <type_traits>

#include "messages/actor_types.h"

namespace shoal {

template <class Message>
[[nodiscard]] auto as_heard(const Message& message) {
  if constexpr (MessageBody::kHas<Message> && !std::is_same_v<Message, Inject>) {
    return Delivered{message};
  } else {
    return message;
  }
}

}  // namespace shoal
