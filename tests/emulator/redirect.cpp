// Loaded into a program by LD_PRELOAD: its dials go through the emulator whose socket SHOAL_LINKS names (emulator.h).
//
// Only TCP over IPv4 is looked at. A dial to a process the emulator knows goes to a door of its own; where the network
// is cut it goes to a port that never answers; if the emulator does not answer at all the dial is refused, so that no
// test passes for want of its faults. Without SHOAL_LINKS nothing is changed. Plain C calls: it lives in any program.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using Connect = int (*)(int, const sockaddr*, socklen_t);
using Listen = int (*)(int, int);

constexpr long kAnswerSeconds = 5;

int real_connect(int descriptor, const sockaddr* address, socklen_t size) {
  static const auto next = reinterpret_cast<Connect>(::dlsym(RTLD_NEXT, "connect"));
  return next(descriptor, address, size);
}

int real_listen(int descriptor, int backlog) {
  static const auto next = reinterpret_cast<Listen>(::dlsym(RTLD_NEXT, "listen"));
  return next(descriptor, backlog);
}

bool is_tcp(int descriptor) {
  int type = 0;
  socklen_t size = sizeof type;
  return ::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

// The emulator's answer to one question, in `answer`; false when there is none.
bool ask(const char* verb, const sockaddr_in& about, char* answer, std::size_t answer_size) {
  const char* path = ::getenv("SHOAL_LINKS");
  sockaddr_un emulator{};
  emulator.sun_family = AF_UNIX;
  if (path == nullptr || ::strlen(path) >= sizeof emulator.sun_path) return false;
  ::strcpy(emulator.sun_path, path);
  const int channel = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const timeval limit{kAnswerSeconds, 0};
  ::setsockopt(channel, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  char host[INET_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET, &about.sin_addr, host, sizeof host);
  char question[256];
  const int length = ::snprintf(question, sizeof question, "%s %d %s %d", verb, static_cast<int>(::getpid()), host,
                                static_cast<int>(ntohs(about.sin_port)));
  ssize_t count = -1;
  if (real_connect(channel, reinterpret_cast<const sockaddr*>(&emulator), sizeof emulator) == 0 &&
      ::send(channel, question, static_cast<std::size_t>(length), MSG_NOSIGNAL) == length) {
    count = ::recv(channel, answer, answer_size - 1, 0);
  }
  ::close(channel);
  if (count <= 0) return false;
  answer[count] = '\0';
  return true;
}

}  // namespace

extern "C" int listen(int descriptor, int backlog) {
  const int result = real_listen(descriptor, backlog);
  sockaddr_in address{};
  socklen_t size = sizeof address;
  const bool concerns_us = result == 0 && ::getenv("SHOAL_LINKS") != nullptr && is_tcp(descriptor) &&
                           ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
                           address.sin_family == AF_INET;
  char answer[64];
  if (concerns_us) (void)ask("listen", address, answer, sizeof answer);
  return result;
}

extern "C" int connect(int descriptor, const sockaddr* address, socklen_t size) {
  const bool concerns_us = ::getenv("SHOAL_LINKS") != nullptr && address != nullptr && address->sa_family == AF_INET &&
                           size >= sizeof(sockaddr_in) && is_tcp(descriptor);
  if (!concerns_us) return real_connect(descriptor, address, size);
  sockaddr_in there{};
  ::memcpy(&there, address, sizeof there);
  char answer[64];
  int port = 0;
  if (!ask("connect", there, answer, sizeof answer) || ::strcmp(answer, "refused") == 0) {
    errno = ECONNREFUSED;
    return -1;
  }
  if (::sscanf(answer, "door %d", &port) == 1) {
    there.sin_port = htons(static_cast<std::uint16_t>(port));
  } else if (::sscanf(answer, "nowhere %d", &port) == 1) {
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    there.sin_port = htons(static_cast<std::uint16_t>(port));
  }
  return real_connect(descriptor, reinterpret_cast<const sockaddr*>(&there), sizeof there);
}
