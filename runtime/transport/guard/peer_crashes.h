// Counts which peers have made this process crash, and says which it does not let in again (P-10a). Pure.
//
//   line = count " " role "/" name "\n"           the keeper writes it, the next life of the process reads it
//
// A peer that makes a process crash twice is refused from then on, by every use of its port. One crash costs nothing
// of the process's budget of restarts: one peer must not end a run by it (S-6). What can come so of all peers together
// is bounded, and a crash by one that is refused already counts as any other: then it was not the peer.
//
// A peer is its role and name, which the run's authority vouches for, and not one certificate: a renewal, or the token
// that it came with, gives its holder another certificate at any time. Nor is it the token, which honest nodes share.
// So a holder of a token of several uses can come again under another name, and can use up the name of another node:
// a name is what a person sees, and can put out together with its tokens (`shoal evict --revoke`).
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace shoal {

class PeerCrashes {
 public:
  static constexpr int kCrashesMax = 2;         // by one peer
  static constexpr std::size_t kPeersMax = 64;  // peers that are remembered

  PeerCrashes() = default;
  // Lines that are not as above are passed over: they cost a peer nothing.
  explicit PeerCrashes(std::string_view text);

  struct Verdict {
    int crashes = 0;          // by this peer so far
    bool is_refused = false;  // from now on
    bool is_excused = false;  // costs nothing of the budget
  };
  // certificate: that of the peer whose bytes were read, as the note of a process has it: "role/name#serial".
  [[nodiscard]] Verdict crashed_by(const std::string& certificate);
  // "role/name" of each (peer_name()).
  [[nodiscard]] std::set<std::string> refused() const;
  [[nodiscard]] std::string text() const;

 private:
  std::map<std::string, int> crashes_;
};

// Beside the note of a process.
[[nodiscard]] std::string peer_crashes_file(const std::string& note);

// Tells a person which peer ("role/name") the process refuses, why, and what lets it in again. file: where the
// process's keeper counts its crashes.
[[nodiscard]] std::string refusal_text(const std::string& process, const std::string& peer, const std::string& file);

}  // namespace shoal
