// Filters the letters that a core under test has sent, by kind.
// They stay in the order in which they were sent.
#pragma once

#include <variant>
#include <vector>

#include "messages/letter.h"

namespace shoal {

template <class Message>
std::vector<Message> bodies_of(const std::vector<Letter>& letters) {
  std::vector<Message> found;
  for (const Letter& letter : letters) {
    if (const auto* body = std::get_if<Message>(&letter.body)) found.push_back(*body);
  }
  return found;
}

}  // namespace shoal
