// Where a run can start from: what its checkpoints folder holds, as the supervisor needs it.
// Apart from the spawner process, because a start point is looked for at its start and at each roll-back.
#pragma once

#include <cstdint>
#include <string>

#include "launch/processes/run_directory.h"
#include "runtime/cluster/supervisor/supervisor.h"
#include "runtime/storage/checkpoint_reader.h"
#include "runtime/storage/journal.h"

namespace shoal {

struct SavedStates {
  RunDirectory run;
  Config config;
  RunId id;
  std::string corpus_sha256;
};

// The newest complete checkpoint of at most so many steps that is whole; a StartPoint of nothing where there is none
// at all. Reads all of it. Errors: kInvalidData (none is good, or of another text), kIo.
[[nodiscard]] Result<StartPoint> find_start_point(const SavedStates& saved, std::uint64_t not_beyond);

// Whether the journal is the whole one of this run: one that is gone, or that ends before the newest checkpoint, would
// give steps, branches and numbers of actors a second time. Errors: kInvalidData with what to do, kIo.
[[nodiscard]] Status check_journal(const SavedStates& saved, JournalStore& journal);

// What the newest manifest says, unverified: quick, whatever the model's size.
[[nodiscard]] StartPoint newest_start_point(const SavedStates& saved);

}  // namespace shoal
