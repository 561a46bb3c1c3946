// Decides if a router believes what comes over a link (S-7): certificate, Hello, role and letter have to agree.
//
// Pure: what is known of the link and of the view comes in, an objection goes out.
#pragma once

#include <optional>
#include <string>

#include "messages/letter.h"
#include "runtime/journal/view.h"
#include "runtime/pipeline/undelivered.h"
#include "runtime/transport/identity.h"
#include "runtime/transport/links.h"

namespace shoal {

// A process that asked to join hears of its number by one of these, and has none before.
[[nodiscard]] bool answers_a_join(const MessageBody& body);

// Returns why a letter from this link is refused; nothing for a letter that is believed and is for this process.
[[nodiscard]] std::optional<Undelivered::Why> objection_to(const Letter& letter, LinkId link, const LinkTable& links,
                                                           const View& view);

// Returns why a Hello is not believed: its role and name are not those of the certificate which the connection was made
// with. An evicted process is named by its Join and refused by its certificate, so both must have one name. A farewell
// claims nothing. certified: nothing if the process is gone.
[[nodiscard]] std::optional<std::string> objection_to(const Hello& hello, const std::optional<PeerIdentity>& certified);

}  // namespace shoal
