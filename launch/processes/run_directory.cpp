// Makes and describes run directories.
#include "launch/processes/run_directory.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <system_error>

#include "launch/say.h"
#include "runtime/base/compose.h"
#include "runtime/base/config_file.h"
#include "runtime/base/file.h"
#include "runtime/storage/checkpoint_claim.h"
#include "runtime/transport/identity.h"
#include "runtime/transport/tls_context.h"

namespace shoal {
namespace {

RunId random_run() {
  std::random_device device;
  std::uint64_t value = 0;
  while (value == 0) value = (static_cast<std::uint64_t>(device()) << 32) | device();
  return RunId{value};
}

// The authority is the run's identity: what was written under a lost one would look like another run's.
Status check_identity(const RunDirectory& run) {
  std::error_code error;
  const auto authority = run.root / "certs" / "ca.crt";
  if (std::filesystem::exists(authority, error)) return Done{};
  for (const auto& left : {run.root / "journal.db", run.root / "metrics.jsonl"}) {
    if (!std::filesystem::exists(left, error)) continue;
    return fail(Error::kInvalidData, compose(authority.string(), " is gone, and with it the identity of the run that ",
                                             "its journal and checkpoints belong to; put the folder ", run.certs(),
                                             " back from a copy, or start a new run"));
  }
  return Done{};
}

Status make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(Error::kIo, compose("cannot make ", folder.string(), ": ", error.message()));
  return Done{};
}

Status make_folders(const RunDirectory& run, const Config& config) {
  const std::filesystem::path checkpoints = run.checkpoints(config);
  for (const auto& folder : {run.root / "certs", run.root / "logs", run.root / "trace", checkpoints}) {
    if (auto made = make_folder(folder); !made) return made;
  }
  std::error_code error;
  std::filesystem::permissions(run.certs(), std::filesystem::perms::owner_all, error);
  return Done{};
}

// Returns what keeps a process from using its files; nothing: they are the holder's, whole and signed by the run's
// authority.
std::optional<std::string> what_is_wrong(const TlsFiles& files, const PeerIdentity& holder) {
  if (const auto used = TlsContext::mutual(files, PeerPolicy{}); !used) return used.failure().message;
  const auto credentials = read_credentials(files);
  const auto identity = credentials ? identity_of(credentials->certificate) : credentials.failure();
  if (!identity) return compose(files.certificate, ": ", identity.failure().message);
  if (*identity == holder) return std::nullopt;
  return compose(files.certificate, " is that of ", identity->name, ".");
}

// And those that would not last as long as the run may, or are damaged: the authority can always sign another.
Status issue_missing(const RunDirectory& run, const Authority& authority) {
  const WallTime now = std::chrono::system_clock::now();
  const std::pair<const char*, PeerRole> holders[] = {
      {"spawner", PeerRole::kSpawner}, {"storage", PeerRole::kStorage}, {"operator", PeerRole::kOperator}};
  for (const auto& [name, role] : holders) {
    const TlsFiles files = credential_files(run.certs(), name);
    const PeerIdentity holder{authority.run(), role, name};
    const auto wrong = std::filesystem::exists(files.certificate) ? what_is_wrong(files, holder) : std::nullopt;
    if (!wrong && !needs_renewal(files, now)) continue;
    if (wrong) say("warning: ", *wrong, " A new certificate and key are made for the ", name, ".");
    const auto credentials = authority.issue(holder, usual_validity(now));
    if (!credentials) return credentials.failure();
    if (auto written = write_credentials(files, credentials.value()); !written) return written.failure();
  }
  return Done{};
}

// Errors: as read_spawner_json().
Result<SpawnerAddress> read_address(const RunDirectory& run, const std::string& path) {
  const auto text = read_file(path);
  if (!text) {
    return fail(Error::kUnreachable,
                compose("no spawner has started in ", run.root.string(), " (no spawner.json there)"));
  }
  try {
    const auto json = nlohmann::json::parse(text.value());
    const auto control = parse_host_port(json.at("address").get<std::string>());
    if (!control) return control.failure();
    SpawnerAddress address{*control, json.at("pid").get<std::uint64_t>(), json.at("run").get<std::string>()};
    if (json.contains("directory")) {
      const auto& directory = json["directory"];
      address.directory =
          DirectoryIdentity{directory.at("host").get<std::string>(), directory.at("path").get<std::string>(),
                            directory.at("device").get<std::uint64_t>(), directory.at("inode").get<std::uint64_t>()};
    }
    if (!json.contains("storage")) return address;
    const auto storage = parse_host_port(json["storage"].get<std::string>());
    if (!storage) return storage.failure();
    address.storage = *storage;
    return address;
  } catch (const nlohmann::json::exception& error) {
    return fail(Error::kInvalidData, compose(path, " is damaged: ", error.what()));
  }
}

}  // namespace

std::filesystem::path RunDirectory::checkpoints(const Config& config) const {
  return config.checkpoint.dir.empty() ? root / "checkpoints" : std::filesystem::path(config.checkpoint.dir);
}

bool RunDirectory::has_checkpoints_elsewhere(const Config& config) const {
  return checkpoints(config).lexically_normal() != (root / "checkpoints").lexically_normal();
}

Status prepare_run_directory(const RunDirectory& run, const Config& config) {
  return prepare_run_directory(run, config, run.root);
}

Status prepare_run_directory(const RunDirectory& run, const Config& config, const std::filesystem::path& place) {
  if (auto known = check_identity(run); !known) return known.failure();
  // The configuration makes it a run, which any start goes on with; what lies there without it is nobody's.
  if (auto made = make_folder(run.root); !made) return made.failure();
  remove_unfinished(run.config());
  if (auto written = replace_file(run.config(), write_config(config)); !written) return written.failure();
  if (auto made = make_folders(run, config); !made) return made.failure();
  auto authority = std::filesystem::exists(run.root / "certs" / "ca.crt")
                       ? Authority::open(run.certs())
                       : Authority::create(run.certs(), random_run(), std::chrono::system_clock::now());
  if (!authority) return authority.failure();
  if (run.has_checkpoints_elsewhere(config)) {
    const CheckpointOwner owner{run_text(authority->run()), place.string()};
    if (auto claimed = claim_checkpoints(run.checkpoints(config), owner); !claimed) return claimed.failure();
  }
  return issue_missing(run, authority.value());
}

Result<std::string> sign_own(const RunDirectory& run, PeerRole role, const std::string& request) {
  const auto authority = Authority::open(run.certs());
  if (!authority) return authority.failure();
  const PeerIdentity holder{authority->run(), role, std::string(role_text(role))};
  return authority->sign(request, holder, usual_validity(std::chrono::system_clock::now()));
}

std::string id_of(const RunDirectory& run) {
  const auto authority = Authority::open(run.certs());
  return authority ? run_text(authority->run()) : std::string();
}

Status check_is_there(const std::string& run_directory) {
  std::error_code error;
  if (std::filesystem::is_directory(run_directory, error)) return Done{};
  return fail(Error::kUsage, compose(run_directory, ": there is no such directory; name a run directory"));
}

Result<Config> read_run_config(const std::string& run_directory) {
  const RunDirectory run{run_directory};
  const auto text = read_file(run.config());
  if (!text) {
    return fail(Error::kUsage, compose(run_directory, ": no run there (it has no config.toml); name a run directory"));
  }
  return parse_config(*text, run.config());
}

Status check_steps(std::optional<std::uint64_t> stop_at, std::uint64_t steps) {
  if (!stop_at || *stop_at >= steps) return Done{};
  return fail(Error::kUsage, compose("--steps ", *stop_at, ": the run has ", steps,
                                     " steps already; they are counted from its beginning"));
}

std::uint64_t steps_target(const Config& config, std::optional<std::uint64_t> stop_at) {
  return stop_at.value_or(config.run.steps);
}

Status check_steps_target(const Config& config, std::optional<std::uint64_t> stop_at, std::uint64_t steps) {
  if (stop_at) return check_steps(stop_at, steps);
  if (config.run.steps >= steps) return Done{};
  return fail(Error::kUsage, compose("run.steps = ", config.run.steps, ": the run has ", steps,
                                     " steps already; go on by --steps N, set run.steps to ", steps,
                                     " or more, or begin a --branch --from an earlier checkpoint"));
}

std::string steps_words(std::optional<std::uint64_t> stop_at) {
  return stop_at ? compose(" --steps ", *stop_at) : std::string();
}

Status write_spawner_json(const RunDirectory& run, const SpawnerAddress& address) {
  const std::string text = host_port_text(address.control);
  nlohmann::ordered_json json{
      {"address", text}, {"control", "https://" + text}, {"pid", address.pid}, {"run", address.run}};
  if (address.storage) json["storage"] = host_port_text(*address.storage);
  const DirectoryIdentity directory = identity_of(run);
  json["directory"] = {
      {"host", directory.host}, {"path", directory.path}, {"device", directory.device}, {"inode", directory.inode}};
  constexpr int kIndent = 2;
  const std::string written = json.dump(kIndent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return replace_file(run.spawner_json(), written + "\n");
}

DirectoryIdentity identity_of(const RunDirectory& run) {
  DirectoryIdentity identity;
  identity.host = host_name();
  std::error_code error;
  const auto path = std::filesystem::canonical(run.root, error);
  identity.path = (error ? run.root : path).string();
  struct ::stat facts {};
  if (::stat(run.root.c_str(), &facts) == 0) {
    identity.device = facts.st_dev;
    identity.inode = facts.st_ino;
  }
  return identity;
}

bool is_same_directory(const DirectoryIdentity& one, const DirectoryIdentity& other) {
  const bool is_one_inode = one.inode != 0 && one.inode == other.inode;
  if (one.host != other.host) return is_one_inode;
  return one.path == other.path || (is_one_inode && one.device == other.device);
}

Result<SpawnerAddress> read_spawner_json(const RunDirectory& run) { return read_address(run, run.spawner_json()); }

void set_spawner_json_aside(const RunDirectory& run) {
  std::error_code ignored;
  if (read_spawner_json(run)) std::filesystem::rename(run.spawner_json(), run.spawner_json_before(), ignored);
  std::filesystem::remove(run.spawner_json(), ignored);
}

Result<SpawnerAddress> last_spawner_address(const RunDirectory& run) {
  auto address = read_spawner_json(run);
  return address ? address : read_address(run, run.spawner_json_before());
}

}  // namespace shoal
