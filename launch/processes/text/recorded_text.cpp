// A record changes by its last file alone, which is replaced at once.
#include "launch/processes/text/recorded_text.h"

#include <sstream>
#include <system_error>
#include <utility>

#include "launch/processes/text/late_tokens.h"
#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/base/sha256.h"
#include "runtime/base/text/shell_word.h"
#include "runtime/data/shards/shard_set.h"

namespace shoal {
namespace {

constexpr auto kOpenAgain = std::chrono::seconds(1);

Result<bool> has_file(const std::string& path) {
  std::error_code error;
  const bool exists = std::filesystem::exists(path, error);
  if (error) return fail(Error::kIo, compose("cannot look for ", path, ": ", error.message()));
  return exists;
}

bool is_digest(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// The list where it is that of this digest.
std::string list_of(const RunDirectory& run, const std::string& sha256) {
  const auto list = read_file(run.shards());
  return list && sha256_hex(std::string_view(*list)) == sha256 ? *list : std::string();
}

Status keep_list(const RunDirectory& run, const std::string& list) {
  if (!list.empty()) return replace_file(run.shards(), list);
  std::error_code error;
  std::filesystem::remove(run.shards(), error);
  return error ? Status(fail(Error::kIo, compose("cannot remove ", run.shards(), ": ", error.message())))
               : Status(Done{});
}

// Names the text on a branch in place of a folder or a pattern that has grown: the same name would be no change.
std::string set_to_grown(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return "--set data.corpus, by another pattern";
  return compose("--set ", shell_word(compose("data.corpus=", (std::filesystem::path(path) / "*.bin").string())));
}

}  // namespace

RecordedText record_of(const Tokens& tokens) { return {tokens.corpus_sha256(), tokens.count(), tokens.shard_list()}; }

Status record_text(const RunDirectory& run, const RecordedText& text) {
  if (auto kept = keep_list(run, text.shards); !kept) return kept;
  return replace_file(run.text(), compose(text.sha256, " ", text.count, "\n"));
}

Result<std::optional<RecordedText>> recorded_text(const RunDirectory& run) {
  const auto exists = has_file(run.text());
  if (!exists) return exists.failure();
  if (!*exists) return std::optional<RecordedText>();
  const auto line = read_file(run.text());
  if (!line) return line.failure();
  RecordedText text;
  std::istringstream words(*line);
  if (!(words >> text.sha256 >> text.count) || !is_digest(text.sha256)) {
    return fail(Error::kInvalidData, compose(run.text(),
                                             " is damaged: a SHA-256 and a number of tokens are expected; "
                                             "remove it, and --resume writes it anew"));
  }
  text.shards = list_of(run, text.sha256);
  return std::optional(std::move(text));
}

Result<RecordedText> text_of_run(const RunDirectory& run) {
  auto text = recorded_text(run);
  if (!text) return text.failure();
  if (*text) return std::move(**text);
  return fail(Error::kInvalidData, compose(run.text(),
                                           " is missing: it says which text the run trains on; "
                                           "--resume writes it anew"));
}

RecordedText text_to_go_on_with(const RecordedText& recorded, const std::optional<BranchRecord>& begun) {
  if (!begun || recorded.sha256 == begun->corpus_sha256) return recorded;
  return RecordedText{begun->corpus_sha256, 0, {}};
}

std::optional<RecordedText> text_without_record(const std::optional<CheckpointManifest>& saved,
                                                const std::optional<BranchRecord>& newest, const std::string& shards) {
  const std::string listed = shards.empty() ? std::string() : sha256_hex(std::string_view(shards));
  const bool is_behind = newest && (!saved || Branch{saved->branch} < newest->branch);
  std::string sha256 = is_behind ? newest->corpus_sha256 : saved ? saved->corpus_sha256 : listed;
  if (sha256.empty()) return std::nullopt;
  const bool is_listed = sha256 == listed;
  return RecordedText{std::move(sha256), 0, is_listed ? shards : std::string()};
}

Status check_same_text(const RecordedText& before, const RecordedText& now, const std::string& path) {
  if (now.sha256 == before.sha256) return Done{};
  const auto shard = before.shards.empty() ? std::nullopt : shard_difference(before.shards, now.shards);
  if (!shard) {
    return fail(Error::kInvalidData,
                compose("the text ", path, " holds other tokens than the run trains on: it has changed, or another ",
                        "tokenizer made them. Put back what was, or train on another text, of another name, on a ",
                        "--branch by --set data.corpus."));
  }
  if (are_same_and_more(before.shards, now.shards)) {
    return fail(Error::kInvalidData,
                compose(*shard, ": ", path, " has more shards than the run trains on. Move the new ones elsewhere, or ",
                        "train on them, too, on a --branch with ", set_to_grown(path), "."));
  }
  return fail(Error::kInvalidData,
              compose(*shard, ": ", path, " does not have the shards that the run trains on. Put them back, or name ",
                      "others on a --branch by --set data.corpus."));
}

Result<RecordedText> text_to_keep(const RecordedText& before, const RecordedText& now, const std::string& path) {
  const bool are_listed = !before.shards.empty() && !now.shards.empty();
  if (are_listed && !shard_difference(before.shards, now.shards)) {
    return RecordedText{before.sha256, now.count, before.shards};
  }
  if (auto same = check_same_text(before, now, path); !same) return same.failure();
  return now;
}

Result<std::shared_ptr<const Tokens>> open_recorded(const RecordedText& text, const Config& config) {
  auto tokens = open_tokens(config, text.shards);
  if (!tokens) return tokens.failure();
  if (auto same = check_same_text(text, record_of(**tokens), config.data.corpus); !same) return same.failure();
  return tokens;
}

Result<std::shared_ptr<const Tokens>> await_recorded(const RecordedText& text, const Config& config, Failure why) {
  auto store = std::make_unique<LateTokens>(
      LateTokens::Known{text.count, text.sha256, text.shards}, std::move(why),
      [text, config] { return open_recorded(text, config); }, kOpenAgain);
  auto tokens = Tokens::of(config.data.corpus, std::move(store), config.data.validation_fraction);
  if (auto enough = check_length(*tokens, config.model.context); !enough) return enough.failure();
  return tokens;
}

}  // namespace shoal
