// Finds shards, and reads across their borders.
#include "runtime/data/shards/shard_set.h"

#include <glob.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>

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
    return fail(Error::kInvalidData, compose("the folder ", folder.string(), " has no shards: no file ends in .bin."));
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
Status check_for_gaps(const ShardPaths& paths) {
  for (std::size_t i = 1; i < paths.size(); ++i) {
    const auto last = numbered(paths[i - 1]);
    const auto next = numbered(paths[i]);
    const bool is_series = last && next && last->before == next->before && last->digits.size() == next->digits.size();
    if (!is_series || next->number() == last->number() + 1) continue;
    std::string missing = std::to_string(last->number() + 1);
    missing.insert(0, last->digits.size() - std::min(missing.size(), last->digits.size()), '0');
    const fs::path file = paths[i].parent_path() / compose(last->before, missing, paths[i].extension().string());
    return fail(Error::kInvalidData,
                compose("the shard ", file.string(), " is missing: ", paths[i - 1].filename().string(), " and ",
                        paths[i].filename().string(), " are there. Get it, or give those that you want other names."));
  }
  return Done{};
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

std::map<std::string, std::string> facts_by_name(std::string_view list) {
  std::map<std::string, std::string> facts;
  for (ListedShard& shard : parse_list(list)) facts[shard.name] = std::move(shard.facts);
  return facts;
}

void sort_by_name(ShardPaths& paths) {
  std::ranges::sort(paths, {}, [](const fs::path& path) { return path.filename().string(); });
}

bool is_pattern(const fs::path& corpus) {
  std::error_code error;
  return !fs::exists(corpus, error) && corpus.string().find_first_of("*?[") != std::string::npos;
}

// Names the first shard of the list that no path bears.
Status check_all_are_among(const ShardPaths& paths, const std::vector<ListedShard>& listed, const fs::path& pattern) {
  for (const ListedShard& shard : listed) {
    const bool is_there =
        std::ranges::any_of(paths, [&](const fs::path& path) { return path.filename() == shard.name; });
    if (is_there) continue;
    return fail(Error::kInvalidData, compose("the shard ", shard.name, " is missing: no file that matches ",
                                             pattern.string(), " has this name."));
  }
  return Done{};
}

}  // namespace

std::optional<std::string> shard_difference(std::string_view before, std::string_view now) {
  const auto were = facts_by_name(before);
  const auto are = facts_by_name(now);
  for (const auto& [name, facts] : were) {
    const auto found = are.find(name);
    if (found == are.end()) return compose("the shard ", name, " is missing");
    if (found->second != facts) return compose("the shard ", name, " holds other tokens");
  }
  for (const auto& [name, facts] : are) {
    if (!were.contains(name)) return compose("the shard ", name, " is new");
  }
  return std::nullopt;
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
  if (const Status whole = check_for_gaps(*paths); !whole) return whole.failure();
  return std::optional(std::move(*paths));
}

Result<ShardPaths> find_listed_shards(const fs::path& corpus, std::string_view list) {
  const auto listed = parse_list(list);
  if (is_pattern(corpus)) {
    auto paths = that_match(corpus);
    if (!paths) return paths;
    std::erase_if(*paths, [&](const fs::path& path) {
      return std::ranges::find(listed, path.filename().string(), &ListedShard::name) == listed.end();
    });
    if (const Status all = check_all_are_among(*paths, listed, corpus); !all) return all.failure();
    sort_by_name(*paths);
    return paths;
  }
  std::error_code error;
  const bool is_one =
      listed.size() == 1 && corpus.filename() == listed.front().name && !fs::is_directory(corpus, error);
  ShardPaths paths;
  for (const ListedShard& shard : listed) paths.push_back(is_one ? corpus : corpus / shard.name);
  return paths;
}

Result<ShardSet> ShardSet::open(const ShardPaths& paths, int vocabulary) {
  ENSURE(!paths.empty(), "a set has shards");
  ShardSet set(vocabulary);
  for (const fs::path& path : paths) {
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
                      static_cast<std::uint32_t>(*unknown), ", and the tokenizer has ", vocabulary_,
                      " tokens. Set data.tokenizer to the one that the shards were made with."));
}

std::string ShardSet::list() const {
  std::string lines;
  for (const ShardFile& shard : shards_) {
    lines += compose(shard.path().filename().string(), " ", shard.count(), " ", shard.fingerprint(), "\n");
  }
  return lines;
}

std::string ShardSet::sha256() const { return sha256_hex(std::string_view(list())); }

}  // namespace shoal
