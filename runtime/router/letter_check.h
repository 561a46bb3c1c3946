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

// Returns why a letter that came over this link is not believed; none: it is, and it is for this process.
[[nodiscard]] std::optional<Undelivered::Why> objection_to(const Letter& letter, LinkId link, const LinkTable& links,
                                                           const View& view);

// Returns why a Hello is not believed: its role and name are not those of the certificate which the connection was made
// with. Who is put out of a run is named by its Join, and refused by its certificate: both are one name. A farewell
// claims nothing. certified: none where the process is gone.
[[nodiscard]] std::optional<std::string> objection_to(const Hello& hello, const std::optional<PeerIdentity>& certified);

}  // namespace shoal
