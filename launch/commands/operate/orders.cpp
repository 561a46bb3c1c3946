// `shoal kill`, `shoal drain` and `shoal evict`: one order, by name.
#include "launch/commands/operate/operate.h"
#include "launch/say.h"
#include "runtime/cluster/operate/operator_words.h"

namespace shoal {
namespace {

Result<int> give_order(const RunLocator& where, std::string_view path, const std::string& body) {
  const auto answer = post_patiently(where, std::string(path), body);
  if (!answer) return answer.failure();
  const auto done = parse_done(answer->body);
  if (!done) return done.failure();
  print(*done, "\n");
  return 0;
}

}  // namespace

Result<int> run_kill(const KillOptions& options) {
  return give_order(options.where, kKillPath, kill_text(options.order));
}

Result<int> run_evict(const EvictOptions& options) {
  return give_order(options.where, kEvictPath, evict_text(options.order));
}

Result<int> run_drain(const DrainOptions& options) {
  return give_order(options.where, kDrainPath, drain_text(options.order));
}

}  // namespace shoal
