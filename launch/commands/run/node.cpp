// `shoal node`: keeps one worker per device. It lives as long as one of them may come back.
#include "launch/commands/run/keepers.h"
#include "launch/keeper.h"
#include "launch/say.h"

namespace shoal {
namespace {

Ward worker_ward(const NodeOptions& node, std::size_t index) {
  Ward ward;
  ward.name = node.devices.size() == 1 ? node.name : compose(node.name, " device ", index);
  auto& arguments = ward.program.arguments;
  arguments = {program_folder() + "/shoal-worker", "node", "--name", node.name};
  for (const auto& address : node.join) arguments.insert(arguments.end(), {"--join", address});
  if (node.token) arguments.insert(arguments.end(), {"--token", *node.token});
  if (node.certs) arguments.insert(arguments.end(), {"--certs", *node.certs});
  arguments.insert(arguments.end(), {"--device", node.devices[index], "--device-index", compose(index)});
  if (node.threads) arguments.insert(arguments.end(), {"--threads", compose(*node.threads)});
  arguments.insert(arguments.end(), {"--grace", compose(node.grace_s)});
  if (node.trace) arguments.insert(arguments.end(), {"--trace", *node.trace});
  ward.limits.final_codes = {0, 2, 3, 4, 5};  // 3 to 5 also when the run has ended so
  ward.limits.longest_delay = std::chrono::seconds(2);
  return ward;
}

}  // namespace

Result<int> run_node(const NodeOptions& options) {
  const auto grace = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options.grace_s));
  Keeper keeper({Duration::zero(), grace});
  for (std::size_t i = 0; i < options.devices.size(); ++i)
    if (auto status = keeper.add(worker_ward(options, i)); !status) return status.failure();
  return keeper.run();
}

}  // namespace shoal
