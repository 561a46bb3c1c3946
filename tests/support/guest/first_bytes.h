// The bytes that strangers send first to a process's one port, and nothing after that: each purpose has a bound of its
// own on those that wait.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/transport/port_protocol.h"

namespace shoal::guest {

enum class FirstBytes { kNothing, kOneByte, kPartialHello, kControlHello, kLinkHello, kLaneHello };
inline constexpr std::array kEveryFirstBytes = {FirstBytes::kNothing,      FirstBytes::kOneByte,
                                                FirstBytes::kPartialHello, FirstBytes::kControlHello,
                                                FirstBytes::kLinkHello,    FirstBytes::kLaneHello};

[[nodiscard]] std::string_view name_of(FirstBytes sort);
// The bytes; those of a hello are made anew each time, as a client makes them.
[[nodiscard]] std::string bytes_of(FirstBytes sort);
// The purpose that a whole hello asks for. Nothing: it is no whole hello.
[[nodiscard]] std::optional<PortProtocol> asked_by(FirstBytes sort);

}  // namespace shoal::guest
