// One place for the library's settings: both sides of a connection must agree on heartbeat and time-out.
#include "runtime/transport/caf_config.h"

#include <caf/actor_system_config.hpp>
#include <caf/io/middleman.hpp>

namespace shoal {
namespace {

constexpr std::size_t kMessagesPerTurn = 64;  // unlimited by default: a busy actor would never yield
// Frames are deserialised where they arrive: nearly all go to the router, which runs there too.
constexpr std::size_t kDeserializers = 0;

}  // namespace

void configure_caf(caf::actor_system_config& config, const CafSettings& settings) {
  config.load<caf::io::middleman>();
  config.set("scheduler.policy", caf::atom("sharing"));  // round trips take a half to a third of "stealing"'s
  config.set("scheduler.max-threads", settings.threads);
  config.set("scheduler.max-throughput", kMessagesPerTurn);
  config.set("middleman.heartbeat-interval", caf::timespan(settings.heartbeat_interval));
  config.set("middleman.connection-timeout", caf::timespan(settings.connection_timeout));
  config.set("middleman.workers", kDeserializers);
}

}  // namespace shoal
