// A std::variant whose copying, moving, comparing and destroying are compiled once, not in every file that has one.
//
// std::visit, std::get, std::get_if and std::holds_alternative take it as the std::variant that it is. A .cpp file
// includes one_of_members.h and instantiates it there; all other files see declarations only.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>

namespace shoal {

namespace one_of {

// Alternatives are bases here, so that a question for one takes the compiler one look, however many there are.
template <class T>
struct Alternative {};
template <class... Types>
struct Alternatives : Alternative<Types>... {};

}  // namespace one_of

template <class... Types>
class OneOf : public std::variant<Types...> {
 public:
  using Variant = std::variant<Types...>;

  template <class T>
  static constexpr bool kHas = std::is_base_of_v<one_of::Alternative<T>, one_of::Alternatives<Types...>>;

  OneOf() noexcept;
  OneOf(const OneOf& other);
  OneOf(OneOf&& other) noexcept;
  OneOf& operator=(const OneOf& other);
  OneOf& operator=(OneOf&& other) noexcept;
  ~OneOf();

  // Implicit, like the variant's.
  template <class T>
  requires kHas<T> OneOf(T value) : OneOf(index_of<T>(), &value) {}

 private:
  // Moves the alternative of that index from there.
  OneOf(std::size_t index, void* from);

  template <class T>
  static constexpr std::size_t index_of() {
    std::size_t index = 0;
    (void)((std::is_same_v<T, Types> || (++index, false)) || ...);
    return index;
  }
};

// Compares by content. Alternatives need not be comparable where it is not instantiated.
template <class... Types>
bool operator==(const OneOf<Types...>& one, const OneOf<Types...>& other);

}  // namespace shoal
