// The list of all bounds is made while the program starts, by one thread, and only read afterwards.
#include "runtime/base/bound.h"

#include <algorithm>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"

namespace shoal {
namespace {

// A function's own: bounds of other files may enter before this file's objects exist.
[[nodiscard]] std::vector<const Bound*>& entered() {
  static std::vector<const Bound*> bounds;
  return bounds;
}

}  // namespace

Bound::Bound(std::string_view name, std::uint64_t usual) : name_(name), usual_(usual), value_(usual) {
  const bool is_new = std::ranges::none_of(entered(), [&](const Bound* one) { return one->name() == name; });
  ENSURE(is_new, compose("the name of a bound is its own: ", name));
  entered().push_back(this);
}

std::vector<const Bound*> Bound::all() {
  std::vector<const Bound*> bounds = entered();
  std::ranges::sort(bounds, {}, &Bound::name);
  return bounds;
}

}  // namespace shoal
