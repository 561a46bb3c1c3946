// See peer_crashes.h.
#include "runtime/transport/guard/peer_crashes.h"

#include <algorithm>
#include <charconv>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

std::string without_serial(std::string_view certificate) {
  return std::string(certificate.substr(0, certificate.find('#')));
}

}  // namespace

PeerCrashes::PeerCrashes(std::string_view text) {
  while (!text.empty() && crashes_.size() < kPeersMax) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    int count = 0;
    const auto parsed = std::from_chars(line.data(), line.data() + line.size(), count);
    const std::string_view rest(parsed.ptr, static_cast<std::size_t>(line.data() + line.size() - parsed.ptr));
    if (parsed.ec != std::errc() || count <= 0 || rest.size() <= 1 || rest[0] != ' ') continue;
    int& crashes = crashes_[without_serial(rest.substr(1))];
    crashes = std::min(kCrashesMax, crashes + std::min(count, kCrashesMax));
  }
}

PeerCrashes::Verdict PeerCrashes::crashed_by(const std::string& certificate) {
  const std::string peer = without_serial(certificate);
  const auto known = crashes_.find(peer);
  if (known == crashes_.end() && crashes_.size() >= kPeersMax) return {1, false, false};
  int& crashes = crashes_[peer];
  if (crashes >= kCrashesMax) return {crashes, true, false};
  ++crashes;
  return {crashes, crashes >= kCrashesMax, true};
}

std::set<std::string> PeerCrashes::refused() const {
  std::set<std::string> refused;
  for (const auto& [peer, crashes] : crashes_) {
    if (crashes >= kCrashesMax) refused.insert(peer);
  }
  return refused;
}

std::string PeerCrashes::text() const {
  std::string text;
  for (const auto& [peer, crashes] : crashes_) text += compose(crashes, " ", peer, "\n");
  return text;
}

std::string peer_crashes_file(const std::string& note) { return note + ".crashes"; }

std::string refusal_text(const std::string& process, const std::string& peer, const std::string& file) {
  const std::string name = peer.substr(peer.find('/') + 1);
  return compose(process, " refuses ", name, ": ", process, " crashed ", PeerCrashes::kCrashesMax,
                 " times while it read what ", name,
                 " had sent, and refuses every certificate of that name; to let it ",
                 "in again, start it under another --name, or remove ", file, " and start ", process, " again");
}

}  // namespace shoal
