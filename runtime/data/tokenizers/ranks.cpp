// The file's text to tokens, and the way of GPT-2's file out of its package. As with corpora, the work is done in a
// scratch folder beside the finished file.
#include "runtime/data/tokenizers/ranks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_set>

#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/base/sha256.h"
#include "runtime/data/fetch.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFileName = "gpt2.tiktoken";
constexpr const char* kInPackage = "*/whisper/assets/gpt2.tiktoken";
// pip runs this package's set-up code to learn its metadata: the hash decides before that what it is.
constexpr const char* kRequirement =
    "openai-whisper==20250625 --hash=sha256:37a91a3921809d9f44748ffc73c0a55c9f366c85a3ef5c2ae0cc09540432eb96\n";

// The alphabet's digit of a character; 64 for none.
constexpr std::array<std::uint8_t, 256> digits() {
  std::array<std::uint8_t, 256> table{};
  table.fill(64);
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    table[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return table;
}

// Base64 with its padding (RFC 4648 §4); nothing when it is not that.
std::optional<std::string> decode_base64(std::string_view text) {
  static constexpr auto kDigits = digits();
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string bytes;
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < text.size() - padding; ++i) {
    const std::uint32_t digit = kDigits[static_cast<unsigned char>(text[i])];
    if (digit == 64) return std::nullopt;
    bits = bits << 6U | digit;
    if (i % 4 != 0) bytes += static_cast<char>(bits >> (6 - 2 * (i % 4)) & 0xFFU);
  }
  const std::uint32_t left_over = padding == 0 ? 0 : bits & ((1U << (2 * padding)) - 1);
  return left_over == 0 ? std::optional(bytes) : std::nullopt;
}

struct Line {
  std::string token;
  std::uint64_t rank = 0;
};

std::optional<Line> parse_line(std::string_view text) {
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  auto token = decode_base64(text.substr(0, blank));
  Line line;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + blank + 1, end, line.rank);
  if (!token || token->size() > kTokenBytesMax || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  line.token = std::move(*token);
  return line;
}

// Says what is wrong among tokens by rank, where every rank below their number is there once; empty: nothing.
std::string what_is_missing(const std::vector<std::string>& tokens) {
  const std::unordered_set<std::string_view> known(tokens.begin(), tokens.end());
  if (known.size() != tokens.size()) return "it has a token twice";
  for (int byte = 0; byte < 256; ++byte) {
    const char character = static_cast<char>(byte);
    if (!known.contains(std::string_view(&character, 1))) return compose("it has no token for the byte ", byte);
  }
  return "";
}

Status check_is_gpt2(const fs::path& path) {
  const auto digest = sha256_file(path);
  if (!digest) return digest.failure();
  if (*digest == kGpt2RanksSha256) return Done{};
  return fail(Error::kInvalidData,
              compose("the file ", path.filename().string(), " is not GPT-2's ranks: its SHA-256 is ", *digest,
                      " instead of ", kGpt2RanksSha256,
                      ". The package has changed or was damaged; give data.tokenizer the path of the right file."));
}

std::optional<fs::path> package_in(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool is_named = name.starts_with("openai-whisper-") || name.starts_with("openai_whisper-");
    if (is_named && name.ends_with(".tar.gz")) return entry->path();
  }
  return std::nullopt;
}

// pip asks a source package for its metadata, which takes Python's build tools: this machine's own where it has them,
// else those that pip gets from the index.
Status download_package(const fs::path& folder) {
  const std::string requirements = (folder / "requirements.txt").string();
  if (const Status written = replace_file(requirements, kRequirement); !written) return written;
  std::vector<std::string> pip = {"python3",
                                  "-m",
                                  "pip",
                                  "download",
                                  "--quiet",
                                  "--no-input",
                                  "--no-deps",
                                  "--dest",
                                  folder.string(),
                                  "--no-binary",
                                  "openai-whisper",
                                  "--disable-pip-version-check",
                                  "--require-hashes",
                                  "--requirement",
                                  requirements};
  auto with_own_tools = pip;
  with_own_tools.emplace_back("--no-build-isolation");
  if (run_logged(with_own_tools, folder, Error::kUnreachable)) return Done{};
  const Status done = run_logged(pip, folder, Error::kUnreachable);
  if (done) return done;
  return fail(
      Error::kUnreachable,
      compose("cannot download the Python package openai-whisper, which holds GPT-2's ranks: ", done.failure().message,
              ". Is pip there (apt-get install python3-pip), and is its package index reachable? Else set "
              "SHOAL_CORPORA to a folder that holds ",
              kFileName, ", or give data.tokenizer the path of it."));
}

// Gets the file into the scratch folder, unchecked.
Result<fs::path> obtain_ranks(const fs::path& scratch) {
  const fs::path local = environment_value("SHOAL_CORPORA");
  const auto ranks = local_copy(kFileName);
  if (!ranks) return ranks;
  if (!ranks->empty()) {
    std::error_code error;
    fs::copy_file(*ranks, scratch / kFileName, error);
    if (error) return fail(Error::kIo, compose("cannot copy ", ranks->string(), ": ", error.message()));
    return scratch / kFileName;
  }
  if (local.empty()) {
    if (const Status done = download_package(scratch); !done) return done.failure();
  }
  const auto package = package_in(local.empty() ? scratch : fs::absolute(local));
  if (!package) {
    return fail(Error::kInvalidData,
                compose("neither ", kFileName, " nor openai-whisper-*.tar.gz in ", local.string(),
                        " (SHOAL_CORPORA). Put one there, or unset SHOAL_CORPORA to download it."));
  }
  const Status unpacked = run_logged({"tar", "--extract", "--gzip", "--file", package->string(), "--strip-components=3",
                                      "--no-same-owner", "--touch", "--wildcards", kInPackage},
                                     scratch, Error::kInvalidData);
  if (!unpacked) return unpacked.failure();
  return scratch / kFileName;
}

}  // namespace

Result<std::vector<std::string>> parse_ranks(std::string_view text, const std::string& where) {
  const auto refuse = [&where](const std::string& what) {
    return fail(Error::kInvalidData, compose(where, " is not a file of ranks (.tiktoken): ", what));
  };
  std::vector<Line> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    auto parsed = parse_line(line);
    if (!parsed) return refuse(compose("line ", lines.size() + 1, " is not `<base64> <rank>`"));
    lines.push_back(std::move(*parsed));
    if (lines.size() > kRanksMax) return refuse(compose("it has more than ", kRanksMax, " lines"));
  }
  std::vector<std::string> tokens(lines.size());
  for (Line& line : lines) {
    const bool has_place = line.rank < tokens.size() && tokens[line.rank].empty();
    if (!has_place) return refuse(compose("rank ", line.rank, " is there twice, or a lower one is missing"));
    tokens[line.rank] = std::move(line.token);
  }
  if (const std::string missing = what_is_missing(tokens); !missing.empty()) return refuse(missing);
  return tokens;
}

Result<fs::path> fetch_gpt2_ranks(const fs::path& folder) {
  const fs::path path = folder / kFileName;
  std::error_code error;
  if (fs::exists(path, error) && check_is_gpt2(path).ok()) return path;
  const auto scratch = make_fetch_folder(folder);
  if (!scratch) return scratch.failure();
  const auto obtained = obtain_ranks(scratch->path());
  if (!obtained) return obtained;
  if (const Status right = check_is_gpt2(*obtained); !right) return right.failure();
  if (const Status placed = take_its_place(*obtained, path); !placed) return placed.failure();
  return path;
}

}  // namespace shoal
