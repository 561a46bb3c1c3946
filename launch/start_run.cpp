// Reads configurations and looks at directories; writes nothing.
#include "launch/start_run.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include "launch/branches/branch_entry.h"
#include "launch/branches/branch_keys.h"
#include "launch/configs/presets.h"
#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/cluster/replicas_wanted.h"
#include "runtime/data/text.h"
#include "runtime/data/tokenizers/tokenizer.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCorpusNameMax = 100;  // a name of a directory may have 255 bytes

// Returns the folder above, as the system reads "..": behind a symbolic link that is the one above what it leads to.
fs::path folder_above(const fs::path& path) {
  std::error_code error;
  if (!fs::is_symlink(path, error)) return path.parent_path();
  const fs::path there = fs::canonical(path, error);
  return (error ? path : there).parent_path();
}

// Returns it without "." and "..", and without a slash at the end, which a shell's completion adds.
std::string absolute_in(const std::string& folder, const std::string& path) {
  fs::path whole;
  for (const fs::path& part : fs::path(folder) / path) {
    if (part == "..") {
      whole = folder_above(whole);
    } else if (!part.empty() && part != ".") {
      whole /= part;
    }
  }
  return whole.string();
}

// 20260101T120000-austen; a corpus given by path counts by its file's name.
std::string usual_name(const Config& config, std::chrono::system_clock::time_point now) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char time[32];
  std::strftime(time, sizeof time, "%Y%m%dT%H%M%SZ", &utc);
  std::string corpus = fs::path(config.data.corpus).stem().string().substr(0, kCorpusNameMax);
  std::replace_if(
      corpus.begin(), corpus.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '_'; }, '-');
  return compose(time, "-", corpus);
}

// Says whether a run may begin in this directory: it is empty, but for the configuration of a start that was killed
// while it wrote that.
bool holds_no_run_yet(const std::string& directory) {
  const std::string config = RunDirectory{directory}.config();
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    if (!is_unfinished(config, entry->path().string())) return false;
  }
  return !error;
}

// named: by which option or key the directory was given.
Status check_is_free(const std::string& named, const std::string& directory) {
  std::error_code error;
  if (!fs::exists(directory, error)) {
    if (!fs::is_symlink(directory, error)) return Done{};
    return fail(Error::kUsage,
                compose(named, " ", directory, " is a link to ", fs::read_symlink(directory, error).string(),
                        ", which is not there; make that folder, or name another"));
  }
  if (!fs::is_directory(directory, error))
    return fail(Error::kUsage, compose(named, " ", directory, " is not a directory; name another"));
  if (holds_no_run_yet(directory)) return Done{};
  return fail(Error::kUsage,
              compose(named, " ", directory, " is not empty; go on with the run in it by --resume, or name another"));
}

bool is_named_corpus(const std::string& corpus) { return find_corpus(corpus) != nullptr; }

// Refuses an empty path, as a variable of a script that is not set makes one: it would name the working directory.
Status check_paths_are_named(const Config& config) {
  if (config.data.corpus.empty())
    return fail(Error::kUsage, "data.corpus is empty: name \"austen\", \"kjv\", or the path of a text or of shards");
  if (config.data.tokenizer.empty())
    return fail(Error::kUsage, "data.tokenizer is empty: name \"bytes\", \"gpt2\", or the path of a .tiktoken file");
  return Done{};
}

// The file that is written must mean the same from another working directory. Errors: check_paths_are_named().
Status make_paths_absolute(Config& config, const std::string& folder) {
  if (auto status = check_paths_are_named(config); !status) return status;
  if (!is_named_corpus(config.data.corpus)) config.data.corpus = absolute_in(folder, config.data.corpus);
  if (!named_vocabulary(config.data.tokenizer)) config.data.tokenizer = absolute_in(folder, config.data.tokenizer);
  if (!config.checkpoint.dir.empty()) config.checkpoint.dir = absolute_in(folder, config.checkpoint.dir);
  return Done{};
}

// A path may hold bytes that no TOML file can.
Status check_can_be_written(const Config& config) {
  const auto read_back = parse_config(write_config(config), "config.toml");
  if (read_back) return Done{};
  return fail(Error::kUsage, compose("this configuration cannot be kept in a file: ", read_back.failure().message));
}

// Both are one sentence then; an empty one is none.
std::string joined(const std::string& first, const std::string& second) {
  return compose(first, first.empty() || second.empty() ? "" : "; ", second);
}

// Legal, and seldom meant: what is trained after the last round is in no model. Empty: there is nothing to say.
std::string rounds_warning(const Config& config) {
  const auto period = static_cast<std::uint64_t>(config.sync.H);
  const std::uint64_t left_over = config.run.steps % period;
  if (config.sync.mode != SyncMode::kDiloco || config.sync.fragments > 1 || left_over == 0) return {};
  return compose("the last ", left_over, " of run.steps = ", config.run.steps,
                 " come after the last round (sync.H = ", period, ") and will be in no model");
}

// Warns of a legal setting that is seldom meant: healthy replicas are never late by nothing at all. Empty: no warning.
std::string quorum_warning(const Config& config) {
  const int quorum = config.sync.quorum;
  const bool has_rounds = config.sync.mode == SyncMode::kDiloco;
  const ReplicasWanted replicas = replicas_wanted(config.pipeline);
  const bool are_all_needed = quorum == 0 || quorum >= static_cast<int>(replicas.most());
  if (!has_rounds || are_all_needed || config.sync.grace_s > 0) return {};
  return compose("with sync.quorum = ", quorum, ", sync.grace_s = 0 and pipeline.replicas = ", replicas.text(),
                 " every round is closed as soon as ", quorum, quorum == 1 ? " replica has" : " replicas have",
                 " contributed, and what the others trained for it is lost; set sync.grace_s to wait for them");
}

// Legal on the same machine, and not the same bits. Empty: there is nothing to say.
std::string threads_warning(const Config& saved, const Config& now) {
  if (saved.run.threads == now.run.threads || now.sync.reduction != Reduction::kExact) return {};
  return compose("run.threads = ", now.run.threads, " where it was ", saved.run.threads,
                 ": another number of threads gives other bits, and sync.reduction = \"exact\" cannot promise those of "
                 "the run without a break");
}

Result<ChosenRun> choose_new(const RunChoice& choice, const Surroundings& here) {
  auto loaded =
      load_config_and_idle_keys({choice.config, here.environment, choice.sets, choice.defaults, choice.is_single});
  if (!loaded) return choice.config ? with_preset_named(loaded.failure(), *choice.config) : loaded.failure();
  Config* config = &loaded->config;
  ChosenRun chosen;
  const std::string out = choice.out.value_or(config->run.out);
  if (out.empty()) chosen.usual_name = absolute_in(here.folder, "runs/" + usual_name(*config, here.now));
  const auto is_free = [](const std::string& directory) {
    std::error_code error;
    return !fs::exists(directory, error);
  };
  chosen.directory = out.empty() ? first_free(chosen.usual_name, is_free) : absolute_in(here.folder, out);
  const std::string named = choice.out ? choice.out_option : "run.out";
  if (auto status = check_is_free(named, chosen.directory); !status) return status.failure();
  config->run.out.clear();
  if (auto status = check_corpus_kind(*config, here.folder); !status) return status.failure();
  if (auto status = make_paths_absolute(*config, here.folder); !status) return status.failure();
  if (auto status = check_can_be_written(*config); !status) return status.failure();
  if (auto status = settle_vocabulary(*config); !status) return status.failure();
  chosen.warning =
      joined(joined(warning_of(std::move(loaded->idle)), rounds_warning(*config)), quorum_warning(*config));
  chosen.config = std::move(*config);
  return chosen;
}

Result<std::string> directory_to_resume(const RunChoice& choice, const Surroundings& here) {
  if (choice.resume_directory && choice.out && *choice.resume_directory != *choice.out)
    return fail(Error::kUsage, compose("--resume ", *choice.resume_directory, " and --out ", *choice.out,
                                       " name two directories; a resumed run goes on in its own"));
  const auto named = choice.resume_directory ? choice.resume_directory : choice.out;
  if (!named) return newest_run(here.folder);
  const std::string directory = absolute_in(here.folder, *named);
  std::error_code error;
  if (fs::exists(directory + "/config.toml", error)) return directory;
  const std::string reason = error ? error.message() : "it has no config.toml";
  return fail(Error::kUsage, compose("--resume ", directory, ": no run there (", reason, ")"));
}

// Warns a person whose run goes on with another configuration than it had; empty: nothing to say.
std::string changes_warning(const Config& saved, const Config& now, const std::optional<BranchWish>& branch) {
  const std::string costly = quorum_warning(now) == quorum_warning(saved) ? "" : quorum_warning(now);
  const std::string of_rounds = branch && rounds_warning(now) != rounds_warning(saved) ? rounds_warning(now) : "";
  return joined(joined(threads_warning(saved, now), of_rounds), costly);
}

// The run's own configuration with what the person sets; that of a branch goes with its steps.
Result<LoadedConfig> configuration_of_resumed(const RunChoice& choice, const Surroundings& here,
                                              const std::string& file, const Config& saved) {
  auto loaded = load_config_and_idle_keys({file, here.environment, choice.sets, {}, choice.is_single});
  if (!loaded) return loaded.failure();
  std::erase_if(loaded->idle, [](const IdleKey& key) { return key.stands_in_file; });  // said when the run began
  const Status is_readable = check_corpus_kind(loaded->config, here.folder);
  if (auto status = make_paths_absolute(loaded->config, here.folder); !status) return status.failure();
  if (!is_readable && loaded->config.data.corpus != saved.data.corpus) return is_readable.failure();
  if (choice.branch) stretch_schedule(saved, loaded->config, choice.sets);
  if (auto status = check_can_be_written(loaded->config); !status) return status.failure();
  return loaded;
}

Result<ChosenRun> choose_resumed(const RunChoice& choice, const Surroundings& here) {
  if (choice.config)
    return fail(Error::kUsage, compose("--resume goes on with the run's own configuration; leave ", *choice.config,
                                       " out, and change what may change by --set"));
  const auto directory = directory_to_resume(choice, here);
  if (!directory) return directory.failure();
  const std::string file = ruling_config(RunDirectory{*directory});
  auto text = read_file(file);
  if (!text) return fail(Error::kUsage, "the configuration: " + text.failure().message);
  const auto saved = parse_config(*text, file);
  if (!saved) return saved.failure();
  auto loaded = configuration_of_resumed(choice, here, file, *saved);
  if (!loaded) return loaded.failure();
  Config& now = loaded->config;
  const bool is_elsewhere = !now.run.out.empty() && absolute_in(here.folder, now.run.out) != *directory;
  if (is_elsewhere) return fail(Error::kUsage, compose("run.out must stay: a resumed run goes on in ", *directory));
  now.run.out.clear();
  if (auto status = check_changes(*saved, now, choice.branch.has_value(), file); !status) return status.failure();
  if (auto status = settle_vocabulary(now); !status) return status.failure();
  ChosenRun chosen{*directory, {}, now, true};
  chosen.read = std::move(*text);
  if (choice.branch) chosen.branch = BranchPlan{*choice.branch, *saved, changes_between(*saved, now)};
  chosen.warning = joined(warning_of(std::move(loaded->idle)), changes_warning(*saved, now, choice.branch));
  return chosen;
}

}  // namespace

std::string warning_of(std::vector<IdleKey> idle) {
  std::string text;
  while (!idle.empty()) {
    const std::string because = idle.front().because;
    std::string names;
    int count = 0;
    for (const IdleKey& key : idle) {
      if (key.because == because) names += (count++ == 0 ? "" : ", ") + key.path;
    }
    std::erase_if(idle, [&](const IdleKey& key) { return key.because == because; });
    text += compose(text.empty() ? "" : "; ", names, count == 1 ? " has" : " have", " no effect while ", because);
  }
  return text;
}

Status check_corpus_kind(const Config& config, const std::string& folder) {
  return check_kind_of_text(compose("data.corpus = \"", config.data.corpus, "\""), folder, config.data.corpus);
}

Surroundings surroundings_here() {
  std::error_code ignored;
  return {shoal_environment(), fs::current_path(ignored).string(), std::chrono::system_clock::now()};
}

Result<ChosenRun> choose_run(const RunChoice& choice, const Surroundings& here) {
  if (choice.branch && !choice.is_resumed) {
    return fail(Error::kUsage, "--branch begins a branch of a run that there is: name the run by --resume DIR");
  }
  return choice.is_resumed ? choose_resumed(choice, here) : choose_new(choice, here);
}

std::string first_free(const std::string& name, const std::function<bool(const std::string&)>& is_free) {
  std::string directory = name;
  for (int number = 2; !is_free(directory); ++number) directory = compose(name, "-", number);
  return directory;
}

Result<std::string> newest_run(const std::string& folder) {
  const std::string runs = absolute_in(folder, "runs");
  std::optional<fs::file_time_type> newest;
  std::string found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(runs, error)) {
    const auto started = fs::last_write_time(entry.path() / "config.toml", error);
    if (error || (newest && started <= *newest)) continue;
    newest = started;
    found = entry.path().string();
  }
  if (newest) return found;
  return fail(Error::kUsage, compose("there is no run under ", runs, "; name the run's directory"));
}

Result<std::string> named_or_newest_run(const std::optional<std::string>& named, const std::string& folder) {
  if (!named) return newest_run(folder);
  if (auto status = check_is_there(*named); !status) return status.failure();
  return *named;
}

}  // namespace shoal
