// The text of a run as its directory has it on record, so that every process that opens it again trains on the same
// tokens, or waits for them: data.corpus may name a folder that grows, or a file that an editor replaces.
//
//   shards.txt    "NAME COUNT FINGERPRINT\n" for each shard (runtime/data/shards/shard_set.h); absent: no shards
//   text.sha256   "SHA256 COUNT\n", written after it: Tokens::corpus_sha256(), and the number of tokens
//
// Commands that enter a run write it (run_entry.h). If shards.txt has another digest, the command was killed between
// the two: then the record has no list. Of a run without text.sha256 (it was removed, or an older version began the
// run) the newest checkpoint and the lines of branches say which text it has.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "launch/processes/run_directory.h"
#include "runtime/base/config.h"
#include "runtime/base/error.h"
#include "runtime/data/tokens.h"
#include "runtime/storage/checkpoint_manifest.h"
#include "runtime/trace/metrics/branches/branch_record.h"

namespace shoal {

struct RecordedText {
  std::string sha256;
  std::uint64_t count = 0;
  std::string shards;  // Tokens::shard_list()
  friend bool operator==(const RecordedText&, const RecordedText&) = default;
};

// May read all of the text.
[[nodiscard]] RecordedText record_of(const Tokens& tokens);

// Errors: kIo.
[[nodiscard]] Status record_text(const RunDirectory& run, const RecordedText& text);
// Nothing where no command has recorded one. Errors: kInvalidData (damaged), kIo.
[[nodiscard]] Result<std::optional<RecordedText>> recorded_text(const RunDirectory& run);
// The same for a process of the run, whose command has recorded it. Errors: kInvalidData also where there is none.
[[nodiscard]] Result<RecordedText> text_of_run(const RunDirectory& run);

// The text that a command finds the run on. begun: the newest branch, where it has no steps yet (its command may have
// been killed before it recorded the text).
[[nodiscard]] RecordedText text_to_go_on_with(const RecordedText& recorded, const std::optional<BranchRecord>& begun);
// The same of a run that has none on record. saved: its newest checkpoint. newest: its newest branch that a person
// began. shards: what shards.txt has, which is the list where it has the text's digest. The number of tokens is not
// known. Nothing: nobody has said.
[[nodiscard]] std::optional<RecordedText> text_without_record(const std::optional<CheckpointManifest>& saved,
                                                              const std::optional<BranchRecord>& newest,
                                                              const std::string& shards);

// Checks that the text at this path is what the run has had so far. Errors: kInvalidData, naming the shard or the text,
// and what to do.
[[nodiscard]] Status check_same_text(const RecordedText& before, const RecordedText& now, const std::string& path);

// The same of the text as data.corpus names it to a command that goes on with the run. Returns what stays on record:
// the list of before where the shards are the same and have another order or other names, as older versions gave them.
[[nodiscard]] Result<RecordedText> text_to_keep(const RecordedText& before, const RecordedText& now,
                                                const std::string& path);

// Opens it again, of shards those on record alone. Errors: those of open_tokens() and check_same_text().
[[nodiscard]] Result<std::shared_ptr<const Tokens>> open_recorded(const RecordedText& text, const Config& config);
// Returns tokens of that text, of which open_recorded() said `why` it cannot be read: they can as soon as it is there
// (late_tokens.h). Errors: kInvalidData, it is too short for the configuration.
[[nodiscard]] Result<std::shared_ptr<const Tokens>> await_recorded(const RecordedText& text, const Config& config,
                                                                   Failure why);

}  // namespace shoal
