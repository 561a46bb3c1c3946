// A failure changes nothing: the certificate that is there is good for a while, and the next look comes soon.
#include "actors/certificate_renewal.h"

#include <caf/all.hpp>

#include "messages/actor_types.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"

namespace shoal {
namespace {

constexpr std::string_view kWho = "certificates";

struct RenewalState {
  static inline const char* name = "certificate_renewal";
  RenewalSettings settings;
};

using Self = caf::stateful_actor<RenewalState>;

WallTime now() { return std::chrono::system_clock::now(); }

// Used first: what cannot be used must not be in the file.
Status renew(RenewalSettings& settings) {
  auto next = renewed(settings.credentials, settings.sign);
  if (!next) return next.failure();
  for (const auto& context : settings.shown_by) {
    if (auto used = context->renew(*next); !used) return used;
  }
  settings.credentials = std::move(*next);
  return replace_file(settings.files.certificate, settings.credentials.certificate, FileAccess::kOwnerOnly);
}

void look(Self* self) {
  RenewalSettings& settings = self->state.settings;
  const auto before = validity_of(settings.credentials.certificate);
  if (before && is_due_for_renewal(*before, now())) {
    const Status done = renew(settings);
    if (done) log_info(kWho, settings.files.certificate, " was renewed");
    if (!done) log_warn(kWho, settings.files.certificate, " cannot be renewed yet: ", done.failure().message);
  }
  const auto validity = validity_of(settings.credentials.certificate);
  if (validity) self->delayed_send(self, until_next_look(*validity, now()), Tick{});
}

caf::behavior certificate_renewal(Self* self, RenewalSettings settings) {
  self->state.settings = std::move(settings);
  self->send(self, Tick{});
  return {[self](const Tick&) { look(self); }};
}

}  // namespace

caf::actor spawn_certificate_renewal(caf::actor_system& system, RenewalSettings settings) {
  return system.spawn<caf::detached>(certificate_renewal, std::move(settings));
}

}  // namespace shoal
