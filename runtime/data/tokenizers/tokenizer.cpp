// Bytes as tokens: the byte is its own number. And which tokenizer a name means.
#include "runtime/data/tokenizers/tokenizer.h"

#include <filesystem>

#include "runtime/base/compose.h"
#include "runtime/base/config_file.h"
#include "runtime/base/file.h"
#include "runtime/base/sha256.h"
#include "runtime/data/fetch.h"
#include "runtime/data/tokenizers/bpe_tokenizer.h"
#include "runtime/data/tokenizers/ranks.h"
#include "runtime/data/tokenizers/tokenizer_json.h"

namespace shoal {
namespace {

// Bounds what is read of a file that claims to be a tokenizer. The largest published ones have 40 MB.
constexpr std::uint64_t kFileMax = 128 << 20;

Result<std::string> read_text(const std::filesystem::path& path) {
  std::error_code unknown;
  const std::uint64_t size = std::filesystem::file_size(path, unknown);
  if (!unknown && size > kFileMax) {
    return fail(Error::kInvalidData, compose("the tokenizer ", path.string(), " is too large: it has ", size,
                                             " bytes, and none of more than ", kFileMax, " is read"));
  }
  auto text = read_file(path.string());
  if (!text) return fail(Error::kInvalidData, "the tokenizer cannot be read: " + text.failure().message);
  return text;
}

Result<std::shared_ptr<const Tokenizer>> read_ranks(const std::filesystem::path& path) {
  const auto text = read_text(path);
  if (!text) return text.failure();
  auto tokens = parse_ranks(*text, path.string());
  if (!tokens) return tokens.failure();
  return std::shared_ptr<const Tokenizer>(
      std::make_shared<BpeTokenizer>(std::move(*tokens), sha256_hex(std::string_view(*text))));
}

Result<BpeModel> read_json(const std::filesystem::path& path) {
  const auto text = read_text(path);
  if (!text) return text.failure();
  return parse_tokenizer_json(*text, path.string());
}

}  // namespace

std::string Tokenizer::decode(std::span<const std::int32_t> tokens) const {
  std::string text;
  for (const std::int32_t token : tokens) text += bytes_of(token);
  return text;
}

std::vector<std::int32_t> ByteTokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> tokens;
  tokens.reserve(text.size());
  for (const char byte : text) tokens.push_back(static_cast<std::uint8_t>(byte));
  return tokens;
}

std::string ByteTokenizer::bytes_of(std::int32_t token) const {
  ENSURE(token >= 0 && token < 256, "a byte token is 0..255");
  return std::string(1, static_cast<char>(token));
}

Result<std::shared_ptr<const Tokenizer>> make_tokenizer(const std::string& name) {
  if (name == "bytes") return std::shared_ptr<const Tokenizer>(std::make_shared<ByteTokenizer>());
  if (name == "gpt2") {
    const auto folder = corpora_folder();
    if (!folder) return folder.failure();
    const auto path = fetch_gpt2_ranks(*folder);
    if (!path) return path.failure();
    return read_ranks(*path);
  }
  std::error_code error;
  const auto status = std::filesystem::status(name, error);
  if (!std::filesystem::is_regular_file(status)) {
    const char* const is = std::filesystem::is_directory(status) ? "that is a folder" : "there is no such file";
    return fail(Error::kUsage, compose("data.tokenizer = \"", name, "\": ", is,
                                       ". Use \"bytes\", \"gpt2\" or the path of a .tiktoken file or of a "
                                       "tokenizer.json."));
  }
  if (!name.ends_with(".json")) return read_ranks(name);
  auto model = read_json(name);
  if (!model) return model.failure();
  std::string digest = digest_of(*model);
  return std::shared_ptr<const Tokenizer>(std::make_shared<BpeTokenizer>(std::move(*model), std::move(digest)));
}

std::string name_or_path(const std::string& tokenizer_json) {
  const auto model = read_json(tokenizer_json);
  const std::string name = model ? name_of(*model) : std::string();
  return name.empty() ? tokenizer_json : name;
}

Status check_vocabulary(const Config& config, const Tokenizer& tokenizer) {
  const int vocabulary = tokenizer.vocabulary_size() + config.model.extra_tokens;
  if (config.model.vocabulary == vocabulary) return Done{};
  return fail(
      Error::kInvalidData,
      compose("the tokenizer ", config.data.tokenizer, " and model.extra_tokens = ", config.model.extra_tokens,
              " make a vocabulary of ", vocabulary, ", and model.vocabulary = ", config.model.vocabulary,
              ": another file was there when the configuration was made, or model.vocabulary is to be left out."));
}

Status settle_vocabulary(Config& config) {
  if (named_vocabulary(config.data.tokenizer)) return Done{};
  const auto tokenizer = make_tokenizer(config.data.tokenizer);
  if (!tokenizer) return tokenizer.failure();
  int& vocabulary = config.model.vocabulary;
  if (vocabulary == 0) vocabulary = (*tokenizer)->vocabulary_size() + config.model.extra_tokens;
  return check_vocabulary(config, **tokenizer);
}

}  // namespace shoal
