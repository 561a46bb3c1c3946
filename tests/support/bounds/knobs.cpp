// A bound's value is a function of the seed and its name: a new bound changes no other one's.
#include "tests/support/bounds/knobs.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "runtime/base/bound.h"
#include "runtime/base/compose.h"
#include "runtime/base/counter_random.h"
#include "runtime/base/ensure.h"
#include "tests/support/bounds/bounds_list.h"

namespace shoal {
namespace {

constexpr std::uint32_t kOneInIsUsual = 4;  // seeds
constexpr std::uint32_t kOneInIsSmall = 2;  // bounds of the others

std::map<std::string, std::uint64_t, std::less<>>& draws() {
  static std::map<std::string, std::uint64_t, std::less<>> counts;
  return counts;
}

}  // namespace

Knobs::~Knobs() {
  for (const auto& [name, value] : set_) {
    for (const Bound* bound : Bound::all()) {
      if (bound->name() == name) const_cast<Bound*>(bound)->value_ = bound->usual();
    }
  }
}

void Knobs::set(std::string_view name, std::uint64_t value) {
  const auto bounds = Bound::all();
  const auto found = std::ranges::find(bounds, name, &Bound::name);
  ENSURE(found != bounds.end(), compose("no bound of this program is called ", name));
  const_cast<Bound*>(*found)->value_ = value;
  set_.insert_or_assign(std::string(name), value);
}

// "name=value name=value"
void Knobs::set_all(const std::string& text) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto at = word.find('=');
    ENSURE(at != std::string::npos, "a knob is name=value");
    set(word.substr(0, at), std::stoull(word.substr(at + 1)));
  }
}

void Knobs::draw(std::uint64_t seed) {
  if (const char* wished = std::getenv("SIMULATION_KNOBS")) return set_all(wished);
  const auto words_of = [seed](std::string_view name) {
    return philox4x32(philox_counter(0, stream_of(name)), philox_key(seed));
  };
  if (words_of("bounds")[0] % kOneInIsUsual == 0) return;
  for (const ListedBound& one : kBoundsList) {
    if (!one.is_drawn()) continue;
    const auto words = words_of(one.name);
    if (words[0] % kOneInIsSmall != 0) continue;
    set(one.name, one.least + words[1] % (one.most - one.least + 1));
    ++draws()[std::string(one.name)];
  }
}

std::uint64_t Knobs::draws_of(std::string_view name) {
  const auto found = draws().find(name);
  return found == draws().end() ? 0 : found->second;
}

std::string Knobs::text() const {
  std::string text;
  for (const auto& [name, value] : set_) text += compose(text.empty() ? "" : " ", name, "=", value);
  return text;
}

}  // namespace shoal
