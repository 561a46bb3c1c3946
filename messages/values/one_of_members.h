// Defines the members that OneOf only declares. A file includes this to instantiate one:
//
//   SHOAL_INSTANTIATE_ONE_OF(MessageBody);  SHOAL_INSTANTIATE_COMPARISON(MessageBody);
#pragma once

#include <array>
#include <utility>

#include "messages/values/one_of.h"

namespace shoal {

namespace one_of {

template <class Variant, class T>
Variant moved_from(void* value) {
  return Variant(std::in_place_type<T>, std::move(*static_cast<T*>(value)));
}

template <class Variant, class... Types>
Variant moved_from(std::size_t index, void* value) {
  static constexpr std::array<Variant (*)(void*), sizeof...(Types)> kMoves{&moved_from<Variant, Types>...};
  return kMoves[index](value);
}

}  // namespace one_of

template <class... Types>
OneOf<Types...>::OneOf() noexcept {}
template <class... Types>
OneOf<Types...>::OneOf(const OneOf& other) : Variant(static_cast<const Variant&>(other)) {}
template <class... Types>
OneOf<Types...>::OneOf(OneOf&& other) noexcept : Variant(static_cast<Variant&&>(other)) {}
template <class... Types>
OneOf<Types...>& OneOf<Types...>::operator=(const OneOf& other) {
  Variant::operator=(static_cast<const Variant&>(other));
  return *this;
}
template <class... Types>
OneOf<Types...>& OneOf<Types...>::operator=(OneOf&& other) noexcept {
  Variant::operator=(static_cast<Variant&&>(other));
  return *this;
}
template <class... Types>
OneOf<Types...>::~OneOf() {}

template <class... Types>
OneOf<Types...>::OneOf(std::size_t index, void* from) : Variant(one_of::moved_from<Variant, Types...>(index, from)) {}

template <class... Types>
bool operator==(const OneOf<Types...>& one, const OneOf<Types...>& other) {
  using Variant = std::variant<Types...>;
  return static_cast<const Variant&>(one) == static_cast<const Variant&>(other);
}

}  // namespace shoal

// Used in namespace shoal. The comparison stands apart, because not all alternatives have one.
#define SHOAL_INSTANTIATE_ONE_OF(Name)         \
  template Name::OneOf();                      \
  template Name::OneOf(const Name&);           \
  template Name::OneOf(Name&&);                \
  template Name& Name::operator=(const Name&); \
  template Name& Name::operator=(Name&&);      \
  template Name::~OneOf();                     \
  template Name::OneOf(std::size_t, void*)
#define SHOAL_INSTANTIATE_COMPARISON(Name) template bool operator==(const Name&, const Name&)
