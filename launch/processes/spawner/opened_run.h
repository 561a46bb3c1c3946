// A run as the spawner's process finds it on the disk: configuration, text, journal and the state to go on from.
//
// Everything here is read, checked and made before an actor starts: where it fails, nothing of the run has changed but
// the term of its journal.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launch/commands/run/processes.h"
#include "launch/processes/start_points.h"
#include "messages/cluster.h"
#include "runtime/pipeline/dispatch.h"

namespace shoal {

struct OpenedRun {
  Config config;
  std::string config_toml;
  std::shared_ptr<const SampleSource> samples;
  std::shared_ptr<JournalStore> journal;
  Term term;
  StartPoint start;
  SavedStates saved;
  bool is_taken_over = false;                    // processes of the run may come back to where it was
  std::optional<std::vector<Peer>> on_record{};  // who had which number (number_record.h)
};

// Begins the next term of the run's journal. Errors: as of what is read, kInvalidData with what to do.
[[nodiscard]] Result<OpenedRun> open_run(const RunDirectory& run, const SpawnerProcessOptions& options, RunId id);

}  // namespace shoal
