// Takes the letters of an actor apart: one handler for each body that the catalogue says the actor hears.
//
// A body without a handler, and a handler without a body, do not compile.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>

#include "messages/actor_types.h"
#include "messages/catalogue/facts.h"
#include "runtime/base/log.h"

namespace shoal {

namespace hearing {

// Names the body that a handler takes.
template <class Call>
struct BodyOf;
template <class Handler, class Body>
struct BodyOf<void (Handler::*)(const Body&) const> {
  using Type = Body;
};
template <class Handler>
using Heard = typename BodyOf<decltype(&Handler::operator())>::Type;

// An order to fail is for every actor, but comes as a message of its own, ahead of all letters (injected.h).
template <Hearer actor, class Body>
inline constexpr bool kComes = includes(kHearers<Body>, actor) && kHearers<Body> != Hearer::kEveryActor;

template <Hearer actor, class Body, class... Bodies>
inline constexpr bool kIsServed = (std::size_t{0} + ... + (std::is_same_v<Body, Bodies> ? 1 : 0)) ==
                                  (kComes<actor, Body> ? 1 : 0);

}  // namespace hearing

// True if there is one handler for each body that comes to the actor, and no other.
template <Hearer actor, class... Handlers>
inline constexpr bool kHearsAll = true
#define SHOAL_SERVED(Type, ...) &&hearing::kIsServed<actor, Type, hearing::Heard<Handlers>...>
    SHOAL_MESSAGES(SHOAL_SERVED);
#undef SHOAL_SERVED

// One handler for each body: `BodyHandlers{[](const Forward&) {...}, ...}`.
template <class... Handlers>
struct BodyHandlers : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
BodyHandlers(Handlers...) -> BodyHandlers<Handlers...>;

// Returns the handler of an actor's letters. A body that is for other actors is logged, and changes nothing.
template <Hearer actor, class... Handlers>
[[nodiscard]] auto hear(BodyHandlers<Handlers...> handlers) {
  static_assert(kHearsAll<actor, Handlers...>, "the handlers are those of the catalogue's last column, each once");
  return [handlers = std::move(handlers)](const Delivered& letter) {
    const auto take = [&](const auto* heard) {
      if (heard) handlers(*heard);
      return heard != nullptr;
    };
    if ((take(std::get_if<hearing::Heard<Handlers>>(&letter.body)) || ...)) return;
    log_warn("letters", "an actor was given a ", facts_of(letter.body).name, ", which is for others; dropped");
  };
}

}  // namespace shoal
