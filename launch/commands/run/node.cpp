// `shoal node`: keeps one worker per device. It lives as long as one of them may come back.
// A folder of its own holds for that time what admits them: the token, which a worker's command line would show to
// every user, and the certificate that it brought, so that a worker comes back after the token has expired. With
// --certs DIR that certificate lies there, and stays: the node itself can come back by it. The keeper's
// folder holds traces on their way to the run directory, and the note of what a worker was computing when it crashed.
#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>

#include "launch/commands/run/blamed_peers.h"
#include "launch/commands/run/devices.h"
#include "launch/commands/run/keepers.h"
#include "launch/keeper.h"
#include "launch/open_files.h"
#include "launch/processes/ports/free_ports.h"
#include "launch/processes/ports/loopback_name.h"
#include "launch/processes/run_directory.h"
#include "launch/say.h"
#include "runtime/base/file.h"
#include "runtime/base/machine/machine_identity.h"
#include "runtime/base/machine/scratch_folder.h"
#include "runtime/base/machine/thread_room.h"
#include "runtime/executor/poison_hook.h"
#include "runtime/transport/control/node_certificate.h"
#include "runtime/transport/guard/peer_note.h"
#include "runtime/transport/sockets.h"

namespace shoal {
namespace {

// The token by the name of a file: itself if it is one, else one in `folder`.
Result<std::string> as_file(const std::string& token, const std::string& folder) {
  if (token.starts_with('@')) return token;
  const std::string file = folder + "/token";
  if (auto written = replace_file(file, token, FileAccess::kOwnerOnly); !written) return written.failure();
  return "@" + file;
}

// Asked before anything is started.
Status check_can_listen(const NodeOptions& node) {
  std::vector<HostPort> ports;
  for (std::uint32_t index = 0; node.listen && index < node.devices.size(); ++index) {
    const auto address = with_port_after(*node.listen, index);
    if (!address) return address.failure();
    ports.push_back(*address);
  }
  return wait_until_free(ports);
}

// Asked before anything is started: what a token is to bring may be missing, and all that is there is this node's.
Status check_certificates(const NodeOptions& node) {
  std::error_code unknown;
  if (node.certs && !node.token && !std::filesystem::exists(*node.certs, unknown) && !unknown) {
    return fail(Error::kUsage,
                compose("--certs ", *node.certs, ": there is no such folder; `--token T --certs DIR` makes ",
                        "it, with a certificate from the run"));
  }
  for (std::uint32_t index = 0; node.certs && index < node.devices.size(); ++index) {
    const TlsFiles kept = credential_files(*node.certs, compose("node", index));
    const TlsFiles files = node.token ? kept : node_files(*node.certs, index);
    if (node.token && !std::filesystem::exists(files.certificate)) continue;
    if (auto status = check_certified_name(files, node.name); !status) return status;
  }
  return Done{};
}

// One device's share of what the node gives.
void add_share(const char* option, const std::optional<std::uint64_t>& whole, std::size_t devices,
               std::vector<std::string>& arguments) {
  if (whole) arguments.insert(arguments.end(), {option, compose(*whole / devices)});
}

// Holds what is the same for all workers of a node, and for all their starts.
struct KeptBy {
  std::string folder;
  std::uint32_t keeper = 0;
  std::uint64_t machine = 0;  // 0: nobody knows
};

// Tells this keeper's starts from those of another one of the same name.
std::uint32_t draw_keeper() {
  std::random_device device;
  return std::max(1U, static_cast<std::uint32_t>(device()));
}

Result<Ward> worker_ward(const NodeOptions& node, const KeptBy& by, std::size_t index) {
  Ward ward;
  ward.name = node.devices.size() == 1 ? node.name : compose(node.name, " device ", index);
  auto& arguments = ward.program.arguments;
  arguments = {program_folder() + "/shoal-worker", "node", "--name", node.name};
  for (const auto& address : node.join) arguments.insert(arguments.end(), {"--join", address});
  if (node.token) arguments.insert(arguments.end(), {"--token", *node.token, "--keep", node.certs.value_or(by.folder)});
  if (!node.token && node.certs) arguments.insert(arguments.end(), {"--certs", *node.certs});
  arguments.insert(arguments.end(), {"--device", node.devices[index], "--device-index", compose(index)});
  arguments.insert(arguments.end(), {"--keeper", compose(by.keeper), "--machine", compose(by.machine)});
  if (node.listen) {
    const auto address = with_port_after(*node.listen, static_cast<std::uint32_t>(index));
    if (!address) return address.failure();
    arguments.insert(arguments.end(), {"--listen", host_port_text(*address)});
  }
  if (node.threads) arguments.insert(arguments.end(), {"--threads", compose(*node.threads)});
  add_share("--memory", node.limits.memory_bytes, node.devices.size(), arguments);
  add_share("--limit-up", node.limits.up_bit_s, node.devices.size(), arguments);
  add_share("--limit-down", node.limits.down_bit_s, node.devices.size(), arguments);
  if (node.trace) arguments.insert(arguments.end(), {"--trace", *node.trace});
  if (node.streams) arguments.insert(arguments.end(), {"--stream", by.folder});
  ward.crash_note = compose(by.folder, "/note-", index);
  arguments.insert(arguments.end(), {"--note", ward.crash_note});
  ward.excuse = blame_peers(ward.name, peer_note_beside(ward.crash_note));
  ward.limits.final_codes = {0, 2, 3, 4, 5, kNoThreadsStatus};  // 3 to 5 also when the run has ended so
  ward.limits.passing_codes = {2, kNoThreadsStatus};            // its port may be taken while it is down
  ward.limits.longest_delay = std::chrono::seconds(2);
  return ward;
}

// The folder of this keeper: what admits its workers, and what they have not yet sent to the run directory.
Result<ScratchFolder> make_kept(const NodeOptions& options) {
  if (options.keep_in) return ScratchFolder::make(*options.keep_in, "shoal-node-");
  const auto parent = temporary_folder();
  auto made = parent ? ScratchFolder::make(*parent, "shoal-node-") : Result<ScratchFolder>(parent.failure());
  if (made) return made;
  return fail(Error::kIo, made.failure().message + "; set TMPDIR to a folder that can be written");
}

// Two that append to one file leave a trace that nobody can read.
Result<Socket> hold_trace(const NodeOptions& options) {
  if (!options.trace || options.keep_in) return Socket();  // those of `shoal train` have names of their own
  const RunDirectory run{*options.trace};
  if (options.streams && std::filesystem::exists(run.config()) && std::filesystem::exists(run.certs())) {
    return fail(Error::kUsage, compose("--trace ", *options.trace,
                                       " is a run directory: this node sends its trace to that of its run already, and "
                                       "both would write one file; leave --trace away, or name another folder"));
  }
  const std::filesystem::path folder = std::filesystem::path(*options.trace) / "trace";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::string path = (folder / ("." + options.name + ".lock")).string();
  Socket lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.is_open()) return fail(Error::kIo, compose("cannot open ", path, ": ", std::strerror(errno)));
  if (::flock(lock.descriptor(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return lock;
  return fail(Error::kUsage, compose("another node of the name ", options.name, " keeps its traces in ",
                                     folder.string(), ": choose another --name, or another folder for --trace"));
}

}  // namespace

Result<int> run_node(const NodeOptions& given) {
  if (const auto poison = poison_from_environment(); !poison) return poison.failure();
  if (const auto enough = check_open_files(open_files_allowed()); !enough) return enough.failure();
  const auto devices = settle_devices(given.devices, ask_gpu_driver);
  if (!devices) return devices.failure();
  if (const auto room = check_thread_room(devices->size() * kThreadsOfWorker); !room) return room.failure();
  NodeOptions options = given;
  options.devices = *devices;
  if (const auto free = check_can_listen(options); !free) return free.failure();
  if (const auto own = check_certificates(options); !own) return own.failure();
  if (options.listen) say_warning(loopback_warning(*options.listen));
  const auto trace_held = hold_trace(options);
  if (!trace_held) return trace_held.failure();
  const auto kept = make_kept(options);
  if (!kept) return kept.failure();
  if (options.token) {
    const auto file = as_file(*options.token, kept->path().string());
    if (!file) return file.failure();
    options.token = *file;
  }
  const auto grace = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options.grace_s));
  Keeper keeper({Duration::zero(), grace});
  const KeptBy by{kept->path().string(), draw_keeper(), machine_identity()};
  for (std::size_t i = 0; i < options.devices.size(); ++i) {
    auto ward = worker_ward(options, by, i);
    if (!ward) return ward.failure();
    if (auto status = keeper.add(std::move(*ward)); !status) return status.failure();
  }
  return keeper.run();
}

}  // namespace shoal
