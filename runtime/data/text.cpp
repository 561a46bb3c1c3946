// Fetching works in a temporary folder beside the finished text, removed whatever happens.
#include "runtime/data/text.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/base/sha256.h"
#include "runtime/data/command.h"
#include "runtime/data/fetch.h"
#include "runtime/data/r_data.h"
#include "runtime/data/shards/shard_set.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

constexpr int kLibraryMissing = 127;

const std::array<Corpus, 2>& corpora() {
  static const std::array<Corpus, 2> known{
      Corpus{.name = "austen",
             .bytes = 4025033,
             .sha256 = "ae4140c6e5ab543cc81f68358120258f0935ac9e27a30f44a7a564b349307867",
             .packages = {"r-cran-janeaustenr"}},
      Corpus{.name = "kjv",
             .bytes = 4298239,
             .sha256 = "6f74f5589333c56c263963e6347dba662bae2d96861302e690aaae0b4a855eda",
             .packages = {"bible-kjv", "bible-kjv-text"}}};
  return known;
}

std::optional<fs::path> package_file(const fs::path& folder, std::string_view package) {
  const std::string prefix = compose(package, "_");
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(prefix) && name.ends_with(".deb")) return entry->path();
  }
  return std::nullopt;
}

Status download(std::string_view package, const fs::path& folder) {
  const std::vector<std::string> fetch{"apt-get", "download", std::string(package)};
  const Status first = run_logged(fetch, folder, Error::kUnreachable);
  if (first) return first;
  // A fresh machine has no package lists yet, an old one has stale ones.
  std::vector<std::string> update{"apt-get", "update"};
  if (::geteuid() != 0) update = {"sudo", "-n", "apt-get", "update"};
  const Status updated = run_logged(update, folder, Error::kUnreachable);
  const Status second = run_logged(fetch, folder, Error::kUnreachable);
  if (second) return second;
  return fail(Error::kUnreachable,
              compose("cannot download the Debian package ", package, ": ", second.failure().message,
                      updated ? "" : "; " + updated.failure().message,
                      ". Is this Debian, and is a package mirror reachable? Else set SHOAL_CORPORA to a folder that "
                      "holds the package, or give data.corpus the path of a text file."));
}

// Unpacks a package, downloaded or from `local`, into folder/root.
Status unpack(std::string_view package, const fs::path& folder, const fs::path& local) {
  if (local.empty()) {
    if (const Status done = download(package, folder); !done) return done;
  }
  const fs::path from = local.empty() ? folder : fs::absolute(local);
  const auto file = package_file(from, package);
  if (!file) {
    return fail(Error::kInvalidData, compose("no ", package, "_*.deb in ", from.string(),
                                             " (SHOAL_CORPORA). Put it there, or unset SHOAL_CORPORA to download it."));
  }
  return run_logged({"dpkg", "-x", file->string(), (folder / "root").string()}, folder, Error::kInvalidData);
}

// The unpacked package's libraries' folders, for LD_LIBRARY_PATH.
std::string library_folders(const fs::path& root) {
  std::string folders;
  for (const char* const below : {"lib", "usr/lib"}) {
    std::error_code error;
    for (fs::directory_iterator entry(root / below, error), end; !error && entry != end; entry.increment(error)) {
      if (entry->is_directory(error)) folders += compose(folders.empty() ? "" : ":", entry->path().string());
    }
  }
  return folders;
}

Result<std::string> print_bible(const fs::path& folder, const fs::path& local) {
  const fs::path root = folder / "root";
  Command bible{
      .arguments = {(root / "usr/bin/bible").string(), "-p", (root / "usr/lib").string(), "-l9999", "gen1:1-rev22:21"},
      .folder = folder,
      .output = folder / "text",
      .errors = folder / "log",
      .environment = {}};
  auto status = run_command(bible);
  if (status.ok() && *status == kLibraryMissing) {
    // The program is linked with readline, which small installations lack.
    if (const Status done = unpack("libreadline8", folder, local); !done) return done.failure();
    bible.environment = {compose("LD_LIBRARY_PATH=", library_folders(root))};
    status = run_command(bible);
  }
  if (!status) return status.failure();
  if (*status != 0) {
    return fail(Error::kInvalidData,
                compose("the unpacked program `bible` ended with ", *status, ": ", last_line(bible.errors)));
  }
  return read_file(bible.output.string());
}

Result<std::string> text_from_packages(const Corpus& corpus, const fs::path& folder, const fs::path& local) {
  for (const std::string_view package : corpus.packages) {
    if (const Status done = unpack(package, folder, local); !done) return done.failure();
  }
  if (corpus.name == "kjv") return print_bible(folder, local);
  const auto rdb = read_file((folder / "root/usr/lib/R/site-library/janeaustenr/data/Rdata.rdb").string());
  if (!rdb) return rdb;
  return join_novels(*rdb);
}

Result<std::string> make_text(const Corpus& corpus, const fs::path& scratch) {
  const fs::path local = environment_value("SHOAL_CORPORA");
  const auto text = local_copy(compose(corpus.name, ".txt"));
  if (!text) return text.failure();
  if (!text->empty()) return read_file(text->string());
  return text_from_packages(corpus, scratch, local);
}

std::string in_small_letters(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

std::string title_key(const std::vector<std::string>& novel) {
  return in_small_letters(novel.empty() ? std::string() : novel.front());
}

bool is_address(const std::string& path) {
  const std::string text = in_small_letters(path);
  return text.starts_with("http://") || text.starts_with("https://");
}

bool has_lines_of_json(const std::string& path) {
  const std::string text = in_small_letters(path);
  return text.ends_with(".jsonl") || text.ends_with(".jsonl.gz") || text.ends_with(".jsonl.zst");
}

// A folder with texts and without a shard. Where other files lie, such as a list of shards, the shards are missing.
bool is_folder_of_texts(const fs::path& folder) {
  bool has_texts = false;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".bin") return false;
    const std::string name = entry->path().string();
    has_texts |= has_lines_of_json(name) || in_small_letters(name).ends_with(".txt");
  }
  return !error && has_texts;
}

}  // namespace

const Corpus* find_corpus(std::string_view name) {
  const auto found = std::ranges::find(corpora(), name, &Corpus::name);
  return found == corpora().end() ? nullptr : &*found;
}

Result<std::string> join_novels(std::string_view rdb) {
  auto novels = read_r_string_vectors(rdb);
  if (!novels) return novels.failure();
  std::ranges::stable_sort(*novels, {}, title_key);
  std::string text;
  for (std::size_t i = 0; i < novels->size(); ++i) {
    if (i > 0) text += "\n\n";
    const std::vector<std::string>& lines = (*novels)[i];
    for (std::size_t j = 0; j < lines.size(); ++j) text += (j > 0 ? "\n" : "") + lines[j];
  }
  return text;
}

Status check_text(const Corpus& corpus, std::string_view text) {
  const std::string digest = sha256_hex(text);
  if (text.size() == corpus.bytes && digest == corpus.sha256) return Done{};
  return fail(Error::kInvalidData,
              compose("the text of ", corpus.name, " is not the published one: ", text.size(), " bytes with SHA-256 ",
                      digest, " instead of ", corpus.bytes, " with ", corpus.sha256,
                      ". The package has changed or was damaged; give data.corpus the path of a text file instead."));
}

Result<fs::path> fetch_corpus(const std::string& name, const fs::path& folder) {
  const Corpus* const corpus = find_corpus(name);
  if (corpus == nullptr) {
    return fail(Error::kUsage, compose("there is no corpus \"", name,
                                       "\": austen and kjv can be fetched, and gpt2, a tokenizer's ranks."));
  }
  const fs::path path = folder / compose(name, ".txt");
  std::error_code unreadable;
  const fs::file_status found = fs::status(path, unreadable);
  if (found.type() == fs::file_type::none || found.type() == fs::file_type::unknown) {
    return fail(Error::kInvalidData, compose("cannot look for ", path.string(), ": ", unreadable.message()));
  }
  if (fs::exists(found)) {
    const auto kept = read_file(path.string());
    if (kept.ok() && check_text(*corpus, *kept).ok()) return path;
  }
  const auto scratch = make_fetch_folder(folder);
  if (!scratch) return scratch.failure();
  const auto text = make_text(*corpus, scratch->path());
  if (!text) return text.failure();
  if (const Status right = check_text(*corpus, *text); !right) return right.failure();
  const fs::path finished = scratch->path() / "finished";  // used by this process alone; the rename below is atomic
  if (const Status written = replace_file(finished.string(), *text); !written) return written.failure();
  if (const Status placed = take_its_place(finished, path); !placed) return placed.failure();
  return path;
}

Status check_kind_of_text(const std::string& named, const fs::path& folder, const std::string& path) {
  if (path.empty() || find_corpus(path) != nullptr) return Done{};
  std::error_code unknown;
  const fs::path place = folder / path;
  const bool is_folder = fs::is_directory(place, unknown);
  const std::string_view kind = is_address(path)                        ? "texts at an address"
                                : !is_folder && has_lines_of_json(path) ? "lines of JSON"
                                : is_folder && is_folder_of_texts(place)
                                    ? "folders of texts (none of its files ends in .bin)"
                                    : "";
  const auto no_shard = kind.empty() ? first_of_no_shards(place) : std::nullopt;
  if (no_shard) {
    return fail(Error::kUsage,
                compose(named, ": a pattern names shards of tokens (.bin), and ", no_shard->string(),
                        " is none; give the path of one text file, as `cat ", path, "` makes it of several"));
  }
  if (kind.empty()) return Done{};
  return fail(Error::kUsage,
              compose(named, ": ", kind, " are not in this version, which reads one text file, or shards ",
                      "of tokens (.bin)"));
}

Result<fs::path> obtain_corpus(const std::string& corpus) {
  if (find_corpus(corpus) == nullptr) return fs::path(corpus);
  const auto folder = corpora_folder();
  if (!folder) return folder;
  return fetch_corpus(corpus, *folder);
}

}  // namespace shoal
