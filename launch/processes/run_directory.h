// The run directory: where everything of a run lies, and how the pieces are made before its processes start.
//
//   config.toml config.before-NAME.toml (of a branch, branches/) text.sha256 shards.txt
//   metrics.jsonl journal.db spawner.json
//   spawner.before.json     checkpoints/ trace/ logs/
//   certs/ (0600): ca.* the authority; spawner.* storage.* operator.* credentials; tokens; join_token; issued:
//     certificates of nodes; revoked.json: the refused ones; processes: who has which number; peers whose bytes
//     crashed spawner or storage: *.peer_note, *.peer_note.crashes
//
// The run's identity is its authority's: a directory without certs/ca.crt is a new run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "messages/ids.h"
#include "runtime/base/config.h"
#include "runtime/base/error.h"
#include "runtime/transport/certificates.h"
#include "runtime/transport/sockets.h"

namespace shoal {

struct RunDirectory {
  std::filesystem::path root;

  [[nodiscard]] std::string config() const { return (root / "config.toml").string(); }
  [[nodiscard]] std::string metrics() const { return (root / "metrics.jsonl").string(); }
  [[nodiscard]] std::string journal() const { return (root / "journal.db").string(); }
  // The text that it trains on (text/recorded_text.h), and its shards; absent: no shards.
  [[nodiscard]] std::string text() const { return (root / "text.sha256").string(); }
  [[nodiscard]] std::string shards() const { return (root / "shards.txt").string(); }
  [[nodiscard]] std::string spawner_json() const { return (root / "spawner.json").string(); }
  // What spawner.json was before the newest start.
  [[nodiscard]] std::string spawner_json_before() const { return (root / "spawner.before.json").string(); }
  [[nodiscard]] std::string certs() const { return (root / "certs").string(); }
  [[nodiscard]] std::string tokens() const { return (root / "certs" / "tokens").string(); }
  [[nodiscard]] std::string revoked() const { return (root / "certs" / "revoked.json").string(); }
  [[nodiscard]] std::string issued() const { return (root / "certs" / "issued").string(); }
  [[nodiscard]] std::string processes() const { return (root / "certs" / "processes").string(); }
  [[nodiscard]] std::string join_token() const { return (root / "certs" / "join_token").string(); }
  // The peer whose bytes it was reading when it crashed, and the refused peers (runtime/transport/guard/peer_note.h).
  [[nodiscard]] std::string peer_note_of(const std::string& process) const {
    return (root / "certs" / (process + ".peer_note")).string();
  }
  [[nodiscard]] std::filesystem::path checkpoints(const Config& config) const;
  // In a folder that other runs may name, too.
  [[nodiscard]] bool has_checkpoints_elsewhere(const Config& config) const;
  [[nodiscard]] std::string log_of(const std::string& process) const {
    return (root / "logs" / (process + ".log")).string();
  }
};

// Says which directory a spawner has: another copy of it has the same files and certificates. A directory that was
// moved keeps device and inode, one that is mounted anew its path, one that another machine mounts its inode. A
// snapshot of its disk has another device.
struct DirectoryIdentity {
  std::string host;
  std::string path;  // canonical
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};
[[nodiscard]] DirectoryIdentity identity_of(const RunDirectory& run);
[[nodiscard]] bool is_same_directory(const DirectoryIdentity& one, const DirectoryIdentity& other);

// What a command needs to find a live run.
struct SpawnerAddress {
  HostPort control;
  std::uint64_t pid = 0;
  std::string run;
  std::optional<HostPort> storage{};             // the address that storage was told to listen at; none: any free port
  std::optional<DirectoryIdentity> directory{};  // of the run, as the spawner found it; none: an older version wrote it
};

// Makes folders, authority and credentials that are not there yet, and writes the resolved configuration. Safe to
// repeat. Errors: kIo, kInvalidData (a damaged authority, or one that is lost where a run was), kUsage (checkpoint.dir
// is another run's).
[[nodiscard]] Status prepare_run_directory(const RunDirectory& run, const Config& config);
// The same, of one that will lie at `place`.
[[nodiscard]] Status prepare_run_directory(const RunDirectory& run, const Config& config,
                                           const std::filesystem::path& place);

// A certificate for one of the run's own processes, or its operator, whose name is that of its role.
[[nodiscard]] Result<std::string> sign_own(const RunDirectory& run, PeerRole role, const std::string& request);

// What the run is called in manifests; empty where its authority is not there or cannot be read.
[[nodiscard]] std::string id_of(const RunDirectory& run);

// Refuses a directory that a person named and that is not there. Errors: kUsage.
[[nodiscard]] Status check_is_there(const std::string& run_directory);

// The configuration in it. Errors: kUsage when there is no run, or its file is not valid.
[[nodiscard]] Result<Config> read_run_config(const std::string& run_directory);

// --steps counts from the run's beginning. Errors: kUsage when it has more of them already.
[[nodiscard]] Status check_steps(std::optional<std::uint64_t> stop_at, std::uint64_t steps);
// Returns the steps after which a command ends its run: --steps, also beyond run.steps, else run.steps.
[[nodiscard]] std::uint64_t steps_target(const Config& config, std::optional<std::uint64_t> stop_at);
// Refuses a target behind the steps that the run has. Errors: as above; a run that has as many finishes at once.
[[nodiscard]] Status check_steps_target(const Config& config, std::optional<std::uint64_t> stop_at,
                                        std::uint64_t steps);
// Returns " --steps N", for a command that a person is given to go on as far; empty where no --steps was given.
[[nodiscard]] std::string steps_words(std::optional<std::uint64_t> stop_at);

// Adds which directory it is.
[[nodiscard]] Status write_spawner_json(const RunDirectory& run, const SpawnerAddress& address);
// Errors: kUnreachable when there is none (no spawner has started here), kInvalidData.
[[nodiscard]] Result<SpawnerAddress> read_spawner_json(const RunDirectory& run);
// Before a start, for whoever waits until it is ready. Where a spawner has listened is not forgotten with it.
void set_spawner_json_aside(const RunDirectory& run);
// Of the last spawner that listened, however many starts have come to nothing since. Errors: as read_spawner_json().
[[nodiscard]] Result<SpawnerAddress> last_spawner_address(const RunDirectory& run);

}  // namespace shoal
