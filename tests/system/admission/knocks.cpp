// Read-only looks into /proc, and TLS clients on sockets that are bound before they connect.
#include "tests/system/admission/knocks.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <set>
#include <sstream>
#include <system_error>
#include <vector>

#include "runtime/transport/control/http_message.h"
#include "runtime/transport/sockets.h"
#include "runtime/transport/tls_socket.h"
#include "tests/support/process_program.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kPatience{10};

constexpr const char* kEstablished = "01";  // as /proc/net/tcp has it

std::set<std::string> sockets_of(pid_t pid) {
  std::set<std::string> inodes;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(pid) + "/fd", error)) {
    std::error_code gone;
    const std::string target = fs::read_symlink(entry.path(), gone).string();
    if (target.starts_with("socket:[")) inodes.insert(target.substr(8, target.size() - 9));
  }
  return inodes;
}

// Returns the states of the process's TCP connections.
std::vector<std::string> states_of(pid_t pid) {
  std::vector<std::string> found;
  const auto inodes = sockets_of(pid);
  std::istringstream lines(read_all("/proc/" + std::to_string(pid) + "/net/tcp"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<std::string> fields;
    for (std::string word; words >> word;) fields.push_back(word);
    if (fields.size() >= 10 && inodes.contains(fields[9])) found.push_back(fields[3]);
  }
  return found;
}

Socket connect_from(const std::string& source, std::uint16_t port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in here{};
  here.sin_family = AF_INET;
  ::inet_pton(AF_INET, source.c_str(), &here.sin_addr);
  sockaddr_in there = here;
  ::inet_pton(AF_INET, "127.0.0.1", &there.sin_addr);
  there.sin_port = htons(port);
  const bool is_connected =
      ::bind(socket.descriptor(), reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0 &&
      ::connect(socket.descriptor(), reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0 &&
      ::fcntl(socket.descriptor(), F_SETFL, O_NONBLOCK) == 0;
  return is_connected ? std::move(socket) : Socket();
}

// True when a connection that asks for the rendezvous, or for a link's greeting, hears anything but a refusal.
bool is_answered(Socket socket, const TlsContext& context, PortProtocol protocol) {
  if (!socket.is_open()) return false;
  const Deadline deadline = std::chrono::steady_clock::now() + kPatience;
  auto session = TlsSocket::connect(std::move(socket), context, deadline, protocol);
  if (!session) return false;
  if (protocol == PortProtocol::kControl) {
    (void)session->write_all(request_text("GET", "/v1/rendezvous", "127.0.0.1", ""), deadline);
  }
  char first[64] = {};
  const auto count = session->read_some(first, sizeof first, deadline);
  const std::string_view said(first, count ? *count : 0);
  return !said.empty() && !said.starts_with("HTTP/1.1 4");
}

}  // namespace

std::size_t live_connections(pid_t pid) {
  const auto states = states_of(pid);
  return static_cast<std::size_t>(std::ranges::count(states, kEstablished));
}

bool lets_in(const std::string& source, std::uint16_t port, const TlsFiles& files) {
  std::signal(SIGPIPE, SIG_IGN);  // whoever refuses us closes while we write
  const auto own = read_credentials(files);
  if (!own) return false;
  const RunId run = identity_of(own->certificate)->run;
  const auto context =
      TlsContext::mutual(files, PeerPolicy{run, {PeerRole::kSpawner, PeerRole::kNode, PeerRole::kStorage}, {}});
  if (!context) return false;
  return is_answered(connect_from(source, port), **context, PortProtocol::kLink) ||
         is_answered(connect_from(source, port), **context, PortProtocol::kControl);
}

}  // namespace shoal
