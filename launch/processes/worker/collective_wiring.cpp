// The library is opened once per process; its settings are this process's environment.
#include "launch/processes/worker/collective_wiring.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/machine/private_network.h"
#include "runtime/device/nccl/nccl_runner.h"
#include "runtime/device/plugin/load_plugin.h"
#include "runtime/device/queue/queued_memory.h"
#include "runtime/device/queue/stream_queue.h"
#include "runtime/device/torch_device.h"
#include "runtime/executor/device_name.h"

namespace shoal {
namespace {

using Library = std::shared_ptr<const NcclLibrary>;

[[nodiscard]] Status stay_in(const std::string& private_network) {
  const auto network = parse_private_network(private_network);
  if (!network) return network.failure();
  const auto interface = interface_in(*network, interfaces_of_this_machine());
  if (!interface) {
    return fail(Error::kUsage, compose("the machine has no address in the private network ", private_network));
  }
  static const std::string chosen = "=" + *interface;
  const char* const family = network->is_v6 ? "AF_INET6" : "AF_INET";
  static const bool is_set = ::setenv("NCCL_SOCKET_IFNAME", chosen.c_str(), 1) == 0 &&
                             ::setenv("NCCL_SOCKET_FAMILY", family, 1) == 0;  // once: other threads may read
  return is_set ? Status(Done{}) : Status(fail(Error::kInternal, "NCCL cannot be told its interface"));
}

// Returns a name of the device that no other device has.
[[nodiscard]] Result<std::string> unique_name_of(const DeviceName& device, StageId stage) {
  if (device.kind == DeviceKind::kCuda) return device_plugin()->identity(device.index);
  return compose("host ", ::gethostid(), " process ", ::getpid(), " stage ", stage);
}

// Opened once; by a process with a GPU after it knows its interface.
[[nodiscard]] const Result<Library>& nccl_library() {
  static const Result<Library> library = open_nccl();
  return library;
}

// Tests have a library that sums on processors. A process without a GPU lacks it whether there is a library or not.
[[nodiscard]] Status check_has_gpu(const DeviceName& device) {
  if (device.kind == DeviceKind::kCuda) return Done{};
  const bool sums_on_processors = nccl_library() && (*nccl_library())->sums_host_memory();
  return sums_on_processors ? Status(Done{})
                            : fail(Error::kUsage, "NCCL sums on GPUs, and the replica computes on a processor");
}

}  // namespace

Result<CollectiveWiring> wire_collective(const Config& config, const std::string& device, StageId stage,
                                         std::function<void(const std::string&)> end_process) {
  const auto name = parse_device(device);
  if (!name) return name.failure();
  if (auto status = check_has_gpu(*name); !status) return status.failure();
  if (auto status = stay_in(config.sync.private_network); !status) return status.failure();
  const Result<Library>& library = nccl_library();
  if (!library) return library.failure();
  const auto identity = unique_name_of(*name, stage);
  if (!identity) return identity.failure();
  NcclRunnerSettings settings;
  settings.library = *library;
  settings.end_process = std::move(end_process);
  static const auto joins = std::make_shared<GivenUpJoins>();  // all stages of this process share it
  settings.joins = joins;
  const bool is_gpu = name->kind == DeviceKind::kCuda;
  settings.make_memory = [is_gpu, device, library = *library] {
    return is_gpu ? make_queued_memory(make_stream_queue(torch_device(device))) : make_host_memory(library);
  };
  CollectiveWiring wiring;
  wiring.offer = {nccl_version_text((*library)->version), *identity, {}, 0};
  wiring.make = [settings](TellCollective tell) {
    NcclRunnerSettings own = settings;
    own.tell = std::move(tell);
    return run_nccl(std::move(own));
  };
  return wiring;
}

}  // namespace shoal
