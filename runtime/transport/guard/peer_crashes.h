// Which certificates have made this process crash, and which of them it does not let in again (P-10a). Pure.
//
//   line = count " " certificate "\n"            the keeper writes it, the next life of the process reads it
//
// Who makes a process crash twice is refused from then on. Until then a crash costs nothing of the process's budget of
// restarts: one peer must not end a run by it (S-6). What can come so of all peers together is bounded, and a crash by
// one that is refused already counts as any other: then it was not the peer.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace shoal {

class PeerCrashes {
 public:
  static constexpr int kCrashesMax = 2;         // of one certificate
  static constexpr std::size_t kPeersMax = 64;  // that are remembered

  PeerCrashes() = default;
  // Lines that are not as above are passed over: they cost a peer nothing.
  explicit PeerCrashes(std::string_view text);

  struct Verdict {
    int crashes = 0;          // of this certificate so far
    bool is_refused = false;  // from now on
    bool is_excused = false;  // costs nothing of the budget
  };
  [[nodiscard]] Verdict crashed_by(const std::string& certificate);
  [[nodiscard]] std::set<std::string> refused() const;
  [[nodiscard]] std::string text() const;

 private:
  std::map<std::string, int> crashes_;
};

// Beside the note of a process.
[[nodiscard]] std::string peer_crashes_file(const std::string& note);

// Tells a person whom the process refuses, by which certificate ("role/name#serial"), why, and what lets it in again.
// file: where the process's keeper counts its crashes.
[[nodiscard]] std::string refusal_text(const std::string& process, const std::string& certificate,
                                       const std::string& file);

}  // namespace shoal
