// See blamed_peers.h.
#include "launch/commands/run/blamed_peers.h"

#include <utility>

#include "launch/say.h"
#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/transport/guard/peer_crashes.h"
#include "runtime/transport/guard/peer_note.h"

namespace shoal {

Ward::Excuse blame_peers(std::string ward, std::string note) {
  return [ward = std::move(ward), note = std::move(note)](const ExitStatus& status,
                                                          bool is_crash) -> std::optional<std::string> {
    const auto certificate = take_peer_note(note);
    // An exception in what it cannot do without ends it with 1.
    if (!certificate || !(is_crash || status.is_code(1))) return std::nullopt;
    const std::string file = peer_crashes_file(note);
    const auto known = read_file(file);
    PeerCrashes crashes(known ? std::string_view(*known) : std::string_view());
    const auto verdict = crashes.crashed_by(*certificate);
    if (const auto kept = replace_file(file, crashes.text(), FileAccess::kOwnerOnly); !kept) {
      say(ward, ": ", kept.failure().message);
    }
    say(ward, " ended (", describe(status), ") while it read what ", *certificate, " had sent",
        verdict.is_refused ? ", again: every certificate of that name is refused from now on" : "");
    if (verdict.is_refused) say(refusal_text(ward, certificate->substr(0, certificate->find('#')), file));
    if (!verdict.is_excused) return std::nullopt;
    return compose(describe(status), ", brought about by a peer");
  };
}

}  // namespace shoal
