// Addresses are compared bit by bit.
#include "runtime/base/machine/private_network.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

[[nodiscard]] std::optional<PrivateNetwork> read_address(const std::string& text) {
  PrivateNetwork one;
  if (::inet_pton(AF_INET, text.c_str(), one.bytes.data()) == 1) return one;
  one.is_v6 = true;
  if (::inet_pton(AF_INET6, text.c_str(), one.bytes.data()) == 1) return one;
  return std::nullopt;
}

[[nodiscard]] int longest(const PrivateNetwork& network) { return network.is_v6 ? 128 : 32; }

}  // namespace

Result<PrivateNetwork> parse_private_network(const std::string& text) {
  const auto refused = fail(Error::kUsage, compose("expected a network like 10.0.0.0/16, got '", text, "'"));
  const auto slash = text.find('/');
  if (slash == std::string::npos) return refused;
  auto network = read_address(text.substr(0, slash));
  if (!network) return refused;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + slash + 1, end, network->bits);
  const bool is_number = read.ec == std::errc() && read.ptr == end;
  if (!is_number || network->bits < 1 || network->bits > longest(*network)) return refused;
  return *network;
}

bool contains(const PrivateNetwork& network, const std::string& address) {
  const auto other = read_address(address);
  if (!other || other->is_v6 != network.is_v6) return false;
  for (int bit = 0; bit < network.bits; ++bit) {
    const auto at = static_cast<std::size_t>(bit / 8);
    if (((network.bytes[at] ^ other->bytes[at]) >> (7 - bit % 8) & 1) != 0) return false;
  }
  return true;
}

std::optional<std::string> interface_in(const PrivateNetwork& network,
                                        const std::vector<NetworkInterface>& interfaces) {
  std::vector<std::string> seen;
  for (const NetworkInterface& one : interfaces) {
    const auto address = read_address(one.address);
    if (!address || address->is_v6 != network.is_v6 || std::ranges::find(seen, one.name) != seen.end()) continue;
    if (contains(network, one.address)) return one.name;
    seen.push_back(one.name);
  }
  return std::nullopt;
}

std::vector<NetworkInterface> interfaces_of_this_machine() {
  std::vector<NetworkInterface> found;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    const int family = entry->ifa_addr->sa_family;
    const void* bytes = nullptr;
    if (family == AF_INET) bytes = &reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr;
    if (family == AF_INET6) bytes = &reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr)->sin6_addr;
    if (bytes == nullptr || ::inet_ntop(family, bytes, text.data(), text.size()) == nullptr) continue;
    found.push_back({entry->ifa_name, text.data()});
  }
  ::freeifaddrs(list);
  return found;
}

}  // namespace shoal
