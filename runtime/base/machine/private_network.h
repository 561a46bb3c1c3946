// A network that a person declares private: nobody else reaches it, so what is neither encrypted nor authenticated may
// travel there. Written as an address and the bits that all of its machines share: 10.0.0.0/16, fd00:1::/64.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/error.h"

namespace shoal {

struct PrivateNetwork {
  bool is_v6 = false;
  std::array<std::uint8_t, 16> bytes{};  // of an address of version 4 the first four
  int bits = 0;
};

struct NetworkInterface {
  std::string name;
  std::string address;  // as numbers
};

// Errors: kUsage, with what was expected.
[[nodiscard]] Result<PrivateNetwork> parse_private_network(const std::string& text);

// False for what is no address, or of the other version.
[[nodiscard]] bool contains(const PrivateNetwork& network, const std::string& address);

// The first interface whose first address of the network's version is in the network: NCCL binds that one. Nothing:
// this machine has none.
[[nodiscard]] std::optional<std::string> interface_in(const PrivateNetwork& network,
                                                      const std::vector<NetworkInterface>& interfaces);

[[nodiscard]] std::vector<NetworkInterface> interfaces_of_this_machine();

}  // namespace shoal
