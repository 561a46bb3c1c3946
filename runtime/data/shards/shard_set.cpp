// Finds shards, and reads across their borders.
#include "runtime/data/shards/shard_set.h"

#include <glob.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/base/sha256.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".bin";

bool begins_as_a_shard(const fs::path& path) {
  std::array<unsigned char, 4> start{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(start.data()), start.size())) return false;
  const std::uint32_t kind = start[0] | start[1] << 8U | start[2] << 16U | static_cast<std::uint32_t>(start[3]) << 24U;
  return kind == 20240520 || kind == 20240801;
}

Result<ShardPaths> in_folder(const fs::path& folder) {
  ShardPaths paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == kSuffix) paths.push_back(entry->path());
  }
  if (error) {
    return fail(Error::kInvalidData, compose("cannot look into the folder ", folder.string(), ": ", error.message()));
  }
  if (paths.empty()) {
    return fail(Error::kInvalidData,
                compose("the folder ", folder.string(),
                        " has no shards: no file ends in .bin. Folders of texts are not in this version."));
  }
  return paths;
}

Result<ShardPaths> that_match(const fs::path& pattern) {
  ::glob_t found{};
  const int status = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  ShardPaths paths;
  for (std::size_t i = 0; status == 0 && i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  if (paths.empty()) {
    return fail(Error::kInvalidData, compose("no file matches the pattern ", pattern.string(), "."));
  }
  return paths;
}

// NAME_000012.bin is "NAME_" and 12 with 6 digits.
struct Numbered {
  std::string before;
  std::string digits;
  [[nodiscard]] std::uint64_t number() const { return std::stoull(digits); }
};

std::optional<Numbered> numbered(const fs::path& path) {
  constexpr std::size_t kDigitsMax = 18;  // of what an uint64 holds
  const std::string stem = path.stem().string();
  std::size_t start = stem.size();
  while (start > 0 && std::isdigit(static_cast<unsigned char>(stem[start - 1])) != 0) --start;
  const std::size_t digits = stem.size() - start;
  if (digits == 0 || digits > kDigitsMax) return std::nullopt;
  return Numbered{stem.substr(0, start), stem.substr(start)};
}

// A download that lost a file leaves a gap between two numbers.
Status check_for_gaps(const ShardPaths& series) {
  for (std::size_t i = 1; i < series.size(); ++i) {
    const auto last = numbered(series[i - 1]);
    const auto next = numbered(series[i]);
    const bool is_series = last && next && last->before == next->before && last->digits.size() == next->digits.size();
    if (!is_series || next->number() == last->number() + 1) continue;
    std::string missing = std::to_string(last->number() + 1);
    missing.insert(0, last->digits.size() - std::min(missing.size(), last->digits.size()), '0');
    const fs::path file = series[i].parent_path() / compose(last->before, missing, series[i].extension().string());
    return fail(Error::kInvalidData,
                compose("the shard ", file.string(), " is missing: ", series[i - 1].filename().string(), " and ",
                        series[i].filename().string(), " are there. Get it, or give those that you want other names."));
  }
  return Done{};
}

// The last `count` names of a path.
std::string end_of(const fs::path& path, std::size_t count) {
  std::string end;
  for (auto at = path.end(); count > 0 && at != path.begin(); --count) {
    --at;
    end = end.empty() ? at->string() : compose(at->string(), "/", end);
  }
  return end;
}

std::vector<std::string> ends_of(const ShardPaths& paths, std::size_t count) {
  std::vector<std::string> ends;
  ends.reserve(paths.size());
  for (const fs::path& path : paths) ends.push_back(end_of(path, count));
  return ends;
}

bool are_distinct(std::vector<std::string> names) {
  std::ranges::sort(names);
  return std::ranges::adjacent_find(names) == names.end();
}

// Returns what a list calls the shards: the names of their files or, where folders hold files of one name, as many of
// the names above as tell all of them apart.
std::vector<std::string> names_of(const ShardPaths& paths) {
  std::size_t longest = 1;
  for (const fs::path& path : paths) longest = std::max<std::size_t>(longest, std::distance(path.begin(), path.end()));
  std::size_t count = 1;
  auto names = ends_of(paths, count);
  while (!are_distinct(names) && count < longest) names = ends_of(paths, ++count);
  return names;
}

// Folders that hold files of one name number them each for itself; others share one series.
std::vector<ShardPaths> series_in(const ShardPaths& paths) {
  if (are_distinct(ends_of(paths, 1))) return {paths};
  std::map<fs::path, ShardPaths> by_folder;
  for (const fs::path& path : paths) by_folder[path.parent_path()].push_back(path);
  std::vector<ShardPaths> all;
  for (auto& [folder, series] : by_folder) all.push_back(std::move(series));
  return all;
}

// " COUNT FINGERPRINT": a name may hold blanks.
std::string_view fields_after_name(std::string_view line) {
  const std::size_t fingerprint = line.rfind(' ');
  if (fingerprint == std::string_view::npos || fingerprint == 0) return {};
  const std::size_t count = line.rfind(' ', fingerprint - 1);
  return count == std::string_view::npos ? std::string_view() : line.substr(count);
}

struct ListedShard {
  std::string name;
  std::string facts;  // the rest of the line
};

std::vector<ListedShard> parse_list(std::string_view list) {
  std::vector<ListedShard> shards;
  while (!list.empty()) {
    const std::string_view line = list.substr(0, list.find('\n'));
    list.remove_prefix(std::min(list.size(), line.size() + 1));
    const std::size_t end = line.size() - std::min(line.size(), fields_after_name(line).size());
    shards.push_back({std::string(line.substr(0, end)), std::string(line.substr(end))});
  }
  return shards;
}

std::string file_name_in(const std::string& name) { return name.substr(name.rfind('/') + 1); }

// A shard is known again by its file's name and its facts, wherever it lies and stands in a list.
using KnownShard = std::pair<std::string, std::string>;

KnownShard known_by(const ListedShard& shard) { return {file_name_in(shard.name), shard.facts}; }

// Returns the shards of a list that the other one lacks, in their order.
std::vector<ListedShard> lacked_by(std::string_view other, std::string_view list) {
  std::map<KnownShard, std::size_t> there;
  for (const ListedShard& shard : parse_list(other)) ++there[known_by(shard)];
  std::vector<ListedShard> lacked;
  for (ListedShard& shard : parse_list(list)) {
    const auto found = there.find(known_by(shard));
    const bool is_there = found != there.end() && found->second > 0;
    if (is_there) {
      --found->second;
    } else {
      lacked.push_back(std::move(shard));
    }
  }
  return lacked;
}

// By the name of the file, then by the path, so that every machine has one order.
void sort_by_name(ShardPaths& paths) {
  std::ranges::sort(paths, {}, [](const fs::path& path) { return std::pair(path.filename().string(), path.string()); });
}

bool is_pattern(const fs::path& corpus) {
  std::error_code error;
  return !fs::exists(corpus, error) && corpus.string().find_first_of("*?[") != std::string::npos;
}

// Says what a line of the list has behind a shard's name.
std::string facts_of(const ShardFile& shard) { return compose(" ", shard.count(), " ", shard.fingerprint()); }

// True for a shard that holds what its line in the list says. Reads of it what its fingerprint takes.
bool has_facts(const fs::path& path, const std::string& facts) {
  const auto shard = ShardFile::open(path);
  return shard && facts_of(*shard) == facts;
}

// The files of which a pattern may name several by one name, and those that are not taken yet.
class Candidates {
 public:
  // paths: sorted.
  explicit Candidates(const ShardPaths& paths) {
    for (const fs::path& path : paths) by_file_name_.emplace(path.filename().string(), path);
  }

  // Takes the file of this shard: the one of its name; of several, or where only the folder has another name, the first
  // that holds what the list says. If of several none does, the first, so that whoever compares says which shard
  // changed. Nothing: no file bears the name.
  std::optional<fs::path> take(const ListedShard& shard) {
    const auto depth = static_cast<std::size_t>(std::ranges::count(shard.name, '/')) + 1;
    const auto [begin, end] = by_file_name_.equal_range(file_name_in(shard.name));
    std::vector<ByFileName::iterator> named, others;
    for (auto at = begin; at != end; ++at) (end_of(at->second, depth) == shard.name ? named : others).push_back(at);
    if (named.size() == 1) return taken(named.front());
    const auto holds = [&shard](const auto& at) { return has_facts(at->second, shard.facts); };
    for (const auto& group : {named, others}) {
      const auto right = std::ranges::find_if(group, holds);
      if (right != group.end()) return taken(*right);
    }
    return named.empty() ? std::nullopt : std::optional(taken(named.front()));
  }

 private:
  using ByFileName = std::multimap<std::string, fs::path>;

  fs::path taken(ByFileName::iterator chosen) {
    fs::path path = std::move(chosen->second);
    by_file_name_.erase(chosen);
    return path;
  }

  ByFileName by_file_name_;
};

}  // namespace

std::optional<std::string> shard_difference(std::string_view before, std::string_view now) {
  const auto missing = lacked_by(now, before);
  const auto added = lacked_by(before, now);
  if (!missing.empty()) {
    const ListedShard& first = missing.front();
    const bool is_there = std::ranges::any_of(
        added, [&first](const ListedShard& shard) { return file_name_in(shard.name) == file_name_in(first.name); });
    return compose("the shard ", first.name, is_there ? " holds other tokens" : " is missing");
  }
  if (!added.empty()) return compose("the shard ", added.front().name, " is new");
  return std::nullopt;
}

bool are_same_and_more(std::string_view before, std::string_view now) {
  return lacked_by(now, before).empty() && !lacked_by(before, now).empty();
}

std::optional<fs::path> first_of_no_shards(const fs::path& pattern) {
  auto paths = is_pattern(pattern) ? that_match(pattern) : Result<ShardPaths>(ShardPaths{});
  if (!paths || paths->empty()) return std::nullopt;
  const auto is_shard = [](const fs::path& path) { return path.extension() == kSuffix || begins_as_a_shard(path); };
  if (std::ranges::any_of(*paths, is_shard)) return std::nullopt;
  return *std::ranges::min_element(*paths);
}

Result<std::optional<ShardPaths>> find_shards(const fs::path& corpus) {
  std::error_code error;
  const bool is_folder = fs::is_directory(corpus, error);
  if (!is_folder && !is_pattern(corpus)) {
    const bool is_shard =
        fs::is_regular_file(corpus, error) && (corpus.extension() == kSuffix || begins_as_a_shard(corpus));
    return is_shard ? std::optional(ShardPaths{corpus}) : std::nullopt;
  }
  auto paths = is_folder ? in_folder(corpus) : that_match(corpus);
  if (!paths) return paths.failure();
  sort_by_name(*paths);
  for (const ShardPaths& series : series_in(*paths)) {
    if (const Status whole = check_for_gaps(series); !whole) return whole.failure();
  }
  return std::optional(std::move(*paths));
}

Result<ListedShards> find_listed_shards(const fs::path& corpus, std::string_view list) {
  ListedShards found;
  const auto listed = parse_list(list);
  if (is_pattern(corpus)) {
    auto paths = that_match(corpus);
    if (!paths) return paths.failure();
    sort_by_name(*paths);
    Candidates candidates(*paths);
    for (const ListedShard& shard : listed) {
      auto path = candidates.take(shard);
      if (!path) {
        return fail(Error::kInvalidData, compose("the shard ", shard.name, " is missing: no file that matches ",
                                                 corpus.string(), " has this name."));
      }
      found.paths.push_back(std::move(*path));
      found.names.push_back(shard.name);
    }
    return found;
  }
  std::error_code error;
  const bool is_one =
      listed.size() == 1 && corpus.filename() == listed.front().name && !fs::is_directory(corpus, error);
  for (const ListedShard& shard : listed) {
    found.paths.push_back(is_one ? corpus : corpus / shard.name);
    found.names.push_back(shard.name);
  }
  return found;
}

Result<ShardSet> ShardSet::open(const ShardPaths& paths, int vocabulary) {
  return open(ListedShards{paths, names_of(paths)}, vocabulary);
}

Result<ShardSet> ShardSet::open(const ListedShards& shards, int vocabulary) {
  ENSURE(!shards.paths.empty() && shards.paths.size() == shards.names.size(), "a set has shards, each with its name");
  ShardSet set(vocabulary);
  set.names_ = shards.names;
  for (const fs::path& path : shards.paths) {
    auto shard = ShardFile::open(path);
    if (!shard) return shard.failure();
    set.starts_.push_back(set.starts_.back() + shard->count());
    set.shards_.push_back(std::move(*shard));
    std::vector<std::int32_t> first(std::min<std::uint64_t>(set.shards_.back().count(), 1024));
    if (const Status read = set.read(set.starts_[set.starts_.size() - 2], first); !read) return read.failure();
  }
  return set;
}

Status ShardSet::read(std::uint64_t offset, std::span<std::int32_t> out) const {
  ENSURE(offset <= count() && out.size() <= count() - offset, "tokens are read within the shards");
  while (!out.empty()) {
    const auto after = std::ranges::upper_bound(starts_, offset);
    const auto index = static_cast<std::size_t>(after - starts_.begin()) - 1;
    const std::uint64_t first = offset - starts_[index];
    const auto piece = out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), *after - offset)));
    if (const Status read = shards_[index].read(first, piece); !read) return read;
    if (const Status known = check_tokens(shards_[index], first, piece); !known) return known;
    out = out.subspan(piece.size());
    offset += piece.size();
  }
  return Done{};
}

Status ShardSet::check_tokens(const ShardFile& shard, std::uint64_t first, std::span<const std::int32_t> t) const {
  const auto unknown =
      std::ranges::find_if(t, [this](std::int32_t token) { return token < 0 || token >= vocabulary_; });
  if (unknown == t.end()) return Done{};
  const std::uint64_t position = first + static_cast<std::uint64_t>(unknown - t.begin());
  return fail(Error::kInvalidData,
              compose("token ", position, " of the shard ", shard.path().string(), " is ",
                      static_cast<std::uint32_t>(*unknown), ", and the vocabulary has ", vocabulary_,
                      " tokens (those of data.tokenizer, and model.extra_tokens): the shard was made with another "
                      "tokenizer, or is damaged"));
}

std::string ShardSet::list() const {
  std::string lines;
  for (std::size_t i = 0; i < shards_.size(); ++i) lines += compose(names_[i], facts_of(shards_[i]), "\n");
  return lines;
}

std::string ShardSet::sha256() const { return sha256_hex(std::string_view(list())); }

}  // namespace shoal
