// Shards in the order of their names, as one sequence of tokens.
//
//   tokens = those of the first shard, of the second, ...; a sequence may begin in one and end in the next
//   list   = "NAME COUNT FINGERPRINT\n" for each, in this order
//   NAME   = the name of the file; where folders hold files of one name, the end of each path that tells all apart:
//            dump-1/train.bin, dump-2/train.bin
//
// Any token is found in O(log shards), without reading those before it. Immutable and thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/data/shards/shard_file.h"
#include "runtime/data/token_store.h"

namespace shoal {

using ShardPaths = std::vector<std::filesystem::path>;

// The shards that data.corpus names, ascending by the name of the file, then by the path: one file that ends in .bin or
// begins as a shard does, a folder's *.bin, or those that match a pattern with *, ? or []. None: it names something
// else. Errors: kInvalidData, nothing matches, or a number between the first and the last is missing (NAME_000001.bin,
// NAME_000003.bin); in each folder, where folders hold files of one name.
[[nodiscard]] Result<std::optional<ShardPaths>> find_shards(const std::filesystem::path& corpus);

// Returns the first file that a pattern matches where none of those is a shard: texts, as a rule. Nothing: it matches a
// shard or nothing at all, or is no pattern.
[[nodiscard]] std::optional<std::filesystem::path> first_of_no_shards(const std::filesystem::path& pattern);

// Shards and what a list calls them, in its order.
struct ListedShards {
  ShardPaths paths;
  std::vector<std::string> names;
};
// Returns the shards of this list (ShardSet::list(), not empty) where data.corpus names them, in its order; other files
// there do not count. Of several files with one name each line takes the one that it describes: lists of older versions
// have names of files alone. Whether each exists is known when it is opened. Errors: kInvalidData, no file that matches
// a pattern has the name.
[[nodiscard]] Result<ListedShards> find_listed_shards(const std::filesystem::path& corpus, std::string_view list);

// The first shard that differs between two lists, and how: "the shard a_000002.bin is missing". None: they have the
// same shards, whatever their order and the folders in their names.
[[nodiscard]] std::optional<std::string> shard_difference(std::string_view before, std::string_view now);
// True if all shards of the list before are there as they were, and others besides.
[[nodiscard]] bool are_same_and_more(std::string_view before, std::string_view now);

class ShardSet final : public TokenStore {
 public:
  // Opens each. No token is read but those of the fingerprints, so that 100 GB open in a moment. Errors: kInvalidData,
  // naming the shard.
  [[nodiscard]] static Result<ShardSet> open(const ShardPaths& paths, int vocabulary);
  // The same under the names of a list.
  [[nodiscard]] static Result<ShardSet> open(const ListedShards& shards, int vocabulary);

  [[nodiscard]] std::uint64_t count() const override { return starts_.back(); }
  // Errors: those of ShardFile::read(), and a token that is not in the vocabulary (kInvalidData).
  [[nodiscard]] Status read(std::uint64_t offset, std::span<std::int32_t> out) const override;
  // Digest of list(): not of where the shards lie.
  [[nodiscard]] std::string sha256() const override;
  // One line per shard, as the head of this file says.
  [[nodiscard]] std::string list() const override;

 private:
  explicit ShardSet(int vocabulary) : vocabulary_(vocabulary) {}
  [[nodiscard]] Status check_tokens(const ShardFile& shard, std::uint64_t first, std::span<const std::int32_t> t) const;

  int vocabulary_;
  std::vector<ShardFile> shards_;
  std::vector<std::string> names_;        // of each shard, in lists
  std::vector<std::uint64_t> starts_{0};  // of each shard, and where the last one ends
};

}  // namespace shoal
