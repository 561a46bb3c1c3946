// Notes the peer whose bytes this process was reading when it crashed, in a mapped file that outlives the process, for
// its keeper.
//
//   reading(certificate) ─▶ the library, the router ─▶ read
//            │
//            ├ the thread that reads crashes (a signal of its own making), or an exception leaves the reading: noted
//            └ another thread crashes, or the process is killed: nothing is noted, for nobody is to blame
//
// A note is believed only if nothing was read after it. One file per process; reading costs a few stores. The keeper
// take()s the note when the process has ended, and judges it (peer_crashes.h).
//
//   file = be32 "SHPN", certificate, zero bytes           read by the same program only
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace shoal {

inline constexpr std::size_t kPeerNoteBytes = 256;

// Notes crashes there from here on. Once in the life of a process; where the file cannot be had, none is noted.
void keep_peer_note(const std::string& path);

// Around everything that is done with bytes of a peer, on the thread that does it.
class PeerReading {
 public:
  // None: a peer without a certificate, in tests.
  explicit PeerReading(std::shared_ptr<const std::string> certificate);
  ~PeerReading();
  PeerReading(const PeerReading&) = delete;
  PeerReading& operator=(const PeerReading&) = delete;

 private:
  std::shared_ptr<const std::string> certificate_;
  const std::string* before_;
  int exceptions_;
};

// Returns the path for a worker, beside the note of what it computes.
[[nodiscard]] inline std::string peer_note_beside(const std::string& work_note) { return work_note + ".peer"; }

// Returns, once, what a process that has ended left behind.
[[nodiscard]] std::optional<std::string> take_peer_note(const std::string& path);

}  // namespace shoal
