// See peer_crashes.h.
#include "runtime/transport/guard/peer_crashes.h"

#include <algorithm>
#include <charconv>

#include "runtime/base/compose.h"

namespace shoal {

PeerCrashes::PeerCrashes(std::string_view text) {
  while (!text.empty() && crashes_.size() < kPeersMax) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    int count = 0;
    const auto parsed = std::from_chars(line.data(), line.data() + line.size(), count);
    const std::string_view rest(parsed.ptr, static_cast<std::size_t>(line.data() + line.size() - parsed.ptr));
    if (parsed.ec == std::errc() && count > 0 && rest.size() > 1 && rest[0] == ' ')
      crashes_[std::string(rest.substr(1))] = count;
  }
}

PeerCrashes::Verdict PeerCrashes::crashed_by(const std::string& certificate) {
  const auto known = crashes_.find(certificate);
  if (known == crashes_.end() && crashes_.size() >= kPeersMax) return {1, false, false};
  int& crashes = crashes_[certificate];
  if (crashes >= kCrashesMax) return {crashes, true, false};
  ++crashes;
  return {crashes, crashes >= kCrashesMax, true};
}

std::set<std::string> PeerCrashes::refused() const {
  std::set<std::string> refused;
  for (const auto& [certificate, crashes] : crashes_) {
    if (crashes >= kCrashesMax) refused.insert(certificate);
  }
  return refused;
}

std::string PeerCrashes::text() const {
  std::string text;
  for (const auto& [certificate, crashes] : crashes_) text += compose(crashes, " ", certificate, "\n");
  return text;
}

std::string peer_crashes_file(const std::string& note) { return note + ".crashes"; }

std::string refusal_text(const std::string& process, const std::string& certificate, const std::string& file) {
  const std::size_t name_begin = certificate.find('/') + 1;
  const std::size_t name_end = std::min(certificate.rfind('#'), certificate.size());
  const std::string name = certificate.substr(name_begin, name_end - std::min(name_begin, name_end));
  const std::string serial = certificate.substr(std::min(name_end + 1, certificate.size()));
  return compose(process, " refuses ", name, " by its certificate ", serial, ": ", process, " crashed ",
                 PeerCrashes::kCrashesMax, " times while it read what ", name, " had sent; to let ", name,
                 " in again, end it and start it anew with a join token (shoal token new), by which it gets another "
                 "certificate, or remove ",
                 file, " and start ", process, " again");
}

}  // namespace shoal
