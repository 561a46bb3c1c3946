// `shoal kill`: one failure, by name.
#include "launch/commands/operate/operate.h"
#include "launch/say.h"
#include "runtime/cluster/operator_words.h"

namespace shoal {

Result<int> run_kill(const KillOptions& options) {
  const auto client = client_of(options.where);
  if (!client) return client.failure();
  const auto answer = client->post(std::string(kKillPath), kill_text(options.order));
  if (!answer) return answer.failure();
  const auto done = parse_done(answer->body);
  if (!done) return done.failure();
  print(*done, "\n");
  return 0;
}

}  // namespace shoal
