// The handlers do nothing but copy bytes, which is allowed in a signal handler; what the signal did before, it does
// then.
#include "runtime/transport/guard/peer_note.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string_view>
#include <utility>

#include "runtime/base/file.h"

namespace shoal {
namespace {

constexpr std::array kOwnSignals = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
constexpr std::string_view kMagic = "SHPN";

char* g_page = nullptr;                                     // none: nothing is noted
std::array<struct sigaction, kOwnSignals.size()> g_before;  // actions of each signal before
thread_local const std::string* t_certificate = nullptr;    // the peer whose bytes this thread reads

void note() {
  if (g_page == nullptr || t_certificate == nullptr) return;
  char* const text = g_page + kMagic.size();
  const std::size_t size = std::min(t_certificate->size(), kPeerNoteBytes - kMagic.size() - 1);
  std::memcpy(text, t_certificate->data(), size);
  text[size] = '\0';
}

void forget() {
  if (g_page != nullptr && g_page[kMagic.size()] != '\0') g_page[kMagic.size()] = '\0';
}

// A fault comes again when the handler returns, everything else must be raised again.
void crashed(int signal, siginfo_t* info, void* /*context*/) {
  note();
  const auto at = std::find(kOwnSignals.begin(), kOwnSignals.end(), signal) - kOwnSignals.begin();
  ::sigaction(signal, &g_before[static_cast<std::size_t>(at)], nullptr);
  const bool is_fault = info != nullptr && info->si_code > 0;
  if (!is_fault) ::raise(signal);
}

}  // namespace

void keep_peer_note(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) return;
  const bool has_room = ::posix_fallocate(descriptor, 0, kPeerNoteBytes) == 0;
  void* const mapping =
      has_room ? ::mmap(nullptr, kPeerNoteBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) : MAP_FAILED;
  ::close(descriptor);
  if (mapping == MAP_FAILED || g_page != nullptr) return;
  std::memcpy(mapping, kMagic.data(), kMagic.size());
  g_page = static_cast<char*>(mapping);
  struct sigaction action {};
  action.sa_sigaction = crashed;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (std::size_t i = 0; i < kOwnSignals.size(); ++i) ::sigaction(kOwnSignals[i], &action, &g_before[i]);
}

PeerReading::PeerReading(std::shared_ptr<const std::string> certificate)
    : certificate_(std::move(certificate)),
      before_(std::exchange(t_certificate, certificate_.get())),
      exceptions_(std::uncaught_exceptions()) {
  forget();
}

PeerReading::~PeerReading() {
  if (std::uncaught_exceptions() > exceptions_) note();
  t_certificate = before_;
}

std::optional<std::string> take_peer_note(const std::string& path) {
  const auto text = read_file(path);
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  if (!text || text->size() != kPeerNoteBytes || !text->starts_with(kMagic)) return std::nullopt;
  const std::string_view rest = std::string_view(*text).substr(kMagic.size());
  const std::string_view certificate = rest.substr(0, rest.find('\0'));
  if (certificate.empty()) return std::nullopt;
  return std::string(certificate);
}

}  // namespace shoal
