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

Result<std::shared_ptr<const Tokenizer>> read_ranks(const std::filesystem::path& path) {
  const auto text = read_file(path.string());
  if (!text) return fail(Error::kInvalidData, "the tokenizer cannot be read: " + text.failure().message);
  auto tokens = parse_ranks(*text, path.string());
  if (!tokens) return tokens.failure();
  return std::shared_ptr<const Tokenizer>(
      std::make_shared<BpeTokenizer>(std::move(*tokens), sha256_hex(std::string_view(*text))));
}

Result<std::shared_ptr<const Tokenizer>> read_json(const std::filesystem::path& path) {
  const auto text = read_file(path.string());
  if (!text) return fail(Error::kInvalidData, "the tokenizer cannot be read: " + text.failure().message);
  auto model = parse_tokenizer_json(*text, path.string());
  if (!model) return model.failure();
  return std::shared_ptr<const Tokenizer>(
      std::make_shared<BpeTokenizer>(std::move(*model), sha256_hex(std::string_view(*text))));
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
  if (std::filesystem::is_regular_file(name, error))
    return name.ends_with(".json") ? read_json(name) : read_ranks(name);
  return fail(Error::kUsage, compose("data.tokenizer = \"", name,
                                     "\": there is no such file. Use \"bytes\", \"gpt2\" or the path of a .tiktoken "
                                     "file or of a tokenizer.json."));
}

Status settle_vocabulary(Config& config) {
  if (named_vocabulary(config.data.tokenizer)) return Done{};
  const auto tokenizer = make_tokenizer(config.data.tokenizer);
  if (!tokenizer) return tokenizer.failure();
  const int vocabulary = (*tokenizer)->vocabulary_size() + config.model.extra_tokens;
  if (config.model.vocabulary == 0) config.model.vocabulary = vocabulary;
  if (config.model.vocabulary == vocabulary) return Done{};
  return fail(Error::kInvalidData,
              compose("the tokenizer ", config.data.tokenizer, " and model.extra_tokens = ", config.model.extra_tokens,
                      " make a vocabulary of ", vocabulary, ", and model.vocabulary = ", config.model.vocabulary,
                      ": the file is not the one that the configuration was made for."));
}

}  // namespace shoal
