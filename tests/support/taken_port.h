// A port of this machine that a test listens at, for programs under test to find in use: nobody else can listen there
// while it lives.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <random>

#include "tests/support/process_program.h"

namespace shoal {

class TakenPort {
 public:
  // 0: any that is free, below those that the system gives out by itself: while it is free again for a moment, no other
  // test gets it. One that was another's may have connections left that are being closed, and is not free at once when
  // that one is killed.
  explicit TakenPort(std::uint16_t number = 0) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    const auto* any = reinterpret_cast<const sockaddr*>(&address);
    std::random_device random;
    std::uniform_int_distribution<std::uint16_t> free_to_choose(20'000, 32'000);
    const auto take = [&] {
      number_ = number > 0 ? number : free_to_choose(random);
      address.sin_port = ::htons(static_cast<std::uint16_t>(number_));
      return ::bind(socket_, any, sizeof address) == 0 && ::listen(socket_, 1) == 0;
    };
    EXPECT_TRUE(wait_until(take, Milliseconds(10'000)));
  }
  ~TakenPort() { ::close(socket_); }
  TakenPort(const TakenPort&) = delete;
  TakenPort& operator=(const TakenPort&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int socket_;
  int number_ = 0;
};

}  // namespace shoal
