// The names stand here once, as the wire has them: protocol_name() leaves the length out.
#include "runtime/transport/port_protocol.h"

#include <array>

namespace shoal {
namespace {

constexpr std::array<std::string_view, 3> kLists = {"\015shoal-control", "\012shoal-link", "\012shoal-lane"};
constexpr std::array<PortProtocol, 3> kProtocols = {PortProtocol::kControl, PortProtocol::kLink, PortProtocol::kLane};

constexpr bool are_well_formed() {
  for (const std::string_view list : kLists) {
    if (static_cast<std::size_t>(list[0]) != list.size() - 1) return false;
  }
  return true;
}
static_assert(are_well_formed(), "each list begins with the length of its name");

}  // namespace

std::string_view protocol_name(PortProtocol protocol) { return kLists[static_cast<std::size_t>(protocol)].substr(1); }

std::span<const unsigned char> protocol_list(PortProtocol protocol) {
  const std::string_view list = kLists[static_cast<std::size_t>(protocol)];
  return {reinterpret_cast<const unsigned char*>(list.data()), list.size()};
}

std::optional<PortProtocol> protocol_named(std::string_view name) {
  for (const PortProtocol protocol : kProtocols) {
    if (protocol_name(protocol) == name) return protocol;
  }
  return std::nullopt;
}

std::optional<PortProtocol> protocol_asked_for(std::span<const unsigned char> extension) {
  if (extension.size() < 2) return std::nullopt;
  const std::size_t announced = static_cast<std::size_t>(extension[0]) << 8 | extension[1];
  auto rest = extension.subspan(2);
  if (announced != rest.size()) return std::nullopt;
  std::optional<PortProtocol> found;
  while (!rest.empty()) {
    const std::size_t size = rest[0];
    if (size == 0 || size >= rest.size()) return std::nullopt;
    const std::string_view name(reinterpret_cast<const char*>(rest.data()) + 1, size);
    if (!found) found = protocol_named(name);
    rest = rest.subspan(1 + size);
  }
  return found.value_or(PortProtocol::kControl);
}

}  // namespace shoal
