// See loopback_name.h.
#include "launch/processes/ports/loopback_name.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

bool means_loopback(std::string host) {
  std::ranges::transform(host, host.begin(), [](unsigned char letter) { return std::tolower(letter); });
  if (!host.empty() && host.back() == '.') host.pop_back();
  constexpr std::array kNames = {"localhost", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback"};
  return std::ranges::count(kNames, host) > 0 || host.ends_with(".localhost") || host.starts_with("localhost.");
}

}  // namespace

std::string loopback_warning(const HostPort& given, const std::vector<std::string>& resolved,
                             const std::vector<std::string>& machine) {
  if (resolved.empty() || !is_loopback(resolved.front())) return {};
  if (resolved.front() == given.host || is_loopback(given.host) || means_loopback(given.host)) return {};
  const auto other = std::ranges::find_if_not(machine, is_loopback);
  const std::string instead =
      other == machine.end() ? std::string() : compose(", such as ", host_port_text({*other, given.port}));
  return compose("--listen ", host_port_text(given), ": ", given.host, " is ", resolved.front(),
                 " here (see /etc/hosts), which no other machine reaches; give an address of this machine that the "
                 "others reach",
                 instead, ", or ", host_port_text({"0.0.0.0", given.port}), " for all of its addresses");
}

std::string loopback_warning(const HostPort& given) {
  return loopback_warning(given, addresses_of(given.host), addresses_of_this_machine());
}

}  // namespace shoal
