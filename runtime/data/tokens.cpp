// Chooses the file that is mapped, and reads its bytes as tokens.
#include "runtime/data/tokens.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/compose.h"
#include "runtime/base/sha256.h"
#include "runtime/data/fetch.h"
#include "runtime/data/mapped_file.h"
#include "runtime/data/text.h"
#include "runtime/data/token_file.h"
#include "runtime/data/tokenizers/ranks.h"

namespace shoal {
namespace {

Failure unusable_text(const std::filesystem::path& path, const std::string& why) {
  return fail(Error::kInvalidData, compose("the text ", path.string(), " cannot be used: ", why, "."));
}

Result<MappedFile> map_text(const std::filesystem::path& path) {
  auto file = MappedFile::open(path);
  if (!file) return unusable_text(path, file.failure().message);
  if (file->bytes().empty()) return unusable_text(path, "it is empty");
  return file;
}

// Digest of a text and of what its tokens are made by.
std::string identity_of(const std::string& text_sha256, const Tokenizer& tokenizer) {
  if (tokenizer.fingerprint() == kGpt2RanksSha256) return text_sha256;
  return sha256_hex(std::string_view(compose(text_sha256, " ", tokenizer.fingerprint(), "\n")));
}

// Tokens of `width` bytes each, behind a header if they are not the text itself.
class MappedTokens final : public TokenStore {
 public:
  // identity: empty where the file is the text.
  MappedTokens(MappedFile file, std::uint32_t width, std::string identity)
      : file_(std::move(file)), tokens_(file_.bytes()), width_(width), identity_(std::move(identity)) {
    if (width_ > 1) tokens_ = tokens_.subspan(kTokenFileHeader);
  }

  [[nodiscard]] std::uint64_t count() const override { return tokens_.size() / width_; }

  [[nodiscard]] Status read(std::uint64_t offset, std::span<std::int32_t> out) const override {
    ENSURE(offset <= count() && out.size() <= count() - offset, "tokens are read within the text");
    const std::byte* at = tokens_.data() + offset * width_;
    for (std::int32_t& token : out) {
      std::uint32_t value = 0;
      for (std::uint32_t i = 0; i < width_; ++i) value |= static_cast<std::uint32_t>(*at++) << (8 * i);
      token = static_cast<std::int32_t>(value);
    }
    return Done{};
  }

  [[nodiscard]] std::string sha256() const override {
    return identity_.empty() ? sha256_hex(file_.bytes()) : identity_;
  }

 private:
  MappedFile file_;
  std::span<const std::byte> tokens_;
  std::uint32_t width_;
  std::string identity_;
};

}  // namespace

TokenSplit split_tokens(std::uint64_t tokens, double validation_fraction) {
  ENSURE(validation_fraction >= 0 && validation_fraction <= 1, "a fraction of the text is in [0, 1]");
  const auto validation = static_cast<std::uint64_t>(std::floor(static_cast<double>(tokens) * validation_fraction));
  return TokenSplit{.train = tokens - validation, .validation = validation};
}

Result<std::shared_ptr<const Tokens>> Tokens::open(const std::filesystem::path& path, double validation_fraction) {
  auto text = map_text(path);
  if (!text) return text.failure();
  auto store = std::make_unique<MappedTokens>(std::move(*text), 1, "");
  return std::shared_ptr<const Tokens>(new Tokens(path, std::move(store), validation_fraction));
}

Result<std::shared_ptr<const Tokens>> Tokens::encode(const std::filesystem::path& path, double validation_fraction,
                                                     const Tokenizer& tokenizer, const std::filesystem::path& folder) {
  const auto text = map_text(path);
  if (!text) return text.failure();
  const std::string text_sha256 = sha256_hex(text->bytes());
  auto file = obtain_token_file(text->text(), text_sha256, tokenizer, folder);
  if (!file) return file.failure();
  const std::uint32_t width = token_width(tokenizer.vocabulary_size());
  auto store = std::make_unique<MappedTokens>(std::move(*file), width, identity_of(text_sha256, tokenizer));
  return std::shared_ptr<const Tokens>(new Tokens(path, std::move(store), validation_fraction));
}

std::shared_ptr<const Tokens> Tokens::of(std::filesystem::path path, std::unique_ptr<const TokenStore> store,
                                         double validation_fraction) {
  return std::shared_ptr<const Tokens>(new Tokens(std::move(path), std::move(store), validation_fraction));
}

Status check_length(const Tokens& tokens, int context) {
  ENSURE(context > 0, "a context has tokens");
  const auto length = static_cast<std::uint64_t>(context);
  const TokenSplit split = tokens.split();
  if (split.train < 2 * length) {
    return fail(Error::kInvalidData, compose("the text ", tokens.path().string(), " is too short: ", split.train,
                                             " training tokens, and model.context = ", context, " needs at least ",
                                             2 * length, ". Use a longer text or a smaller model.context."));
  }
  if (split.validation < length + 1) {
    return fail(Error::kInvalidData,
                compose("the text ", tokens.path().string(), " is too short: ", split.validation,
                        " validation tokens, and model.context = ", context, " needs at least ", length + 1,
                        ". Use a longer text, a larger data.validation_fraction or a smaller model.context."));
  }
  return Done{};
}

namespace {

// True also of shards that cannot be used.
bool names_shards(const std::filesystem::path& path) {
  const auto shards = find_shards(path);
  return !shards || shards->has_value();
}

Result<std::shared_ptr<const Tokens>> tokens_of(const std::filesystem::path& corpus, Result<ShardSet> shards,
                                                double validation_fraction) {
  if (!shards) return shards.failure();
  return Tokens::of(corpus, std::make_unique<ShardSet>(std::move(*shards)), validation_fraction);
}

// vocabulary: of shards, whose tokens may be some that the tokenizer does not have.
Result<std::shared_ptr<const Tokens>> open_text(const std::filesystem::path& path, double validation_fraction,
                                                const Tokenizer& tokenizer, int vocabulary) {
  const auto shards = find_shards(path);
  if (!shards) return shards.failure();
  if (*shards) return tokens_of(path, ShardSet::open(**shards, vocabulary), validation_fraction);
  if (token_width(tokenizer.vocabulary_size()) == 1) return Tokens::open(path, validation_fraction);
  const auto folder = corpora_folder();
  if (!folder) return folder.failure();
  return Tokens::encode(path, validation_fraction, tokenizer, *folder);
}

Result<std::shared_ptr<const Tokens>> open_listed(const std::filesystem::path& path, double validation_fraction,
                                                  int vocabulary, std::string_view list) {
  const auto shards = find_listed_shards(path, list);
  if (!shards) return shards.failure();
  return tokens_of(path, ShardSet::open(*shards, vocabulary), validation_fraction);
}

}  // namespace

Result<std::shared_ptr<const Tokens>> open_evaluation_text(const std::filesystem::path& path,
                                                           const Tokenizer& tokenizer, int vocabulary) {
  auto tokens = open_text(path, 1.0, tokenizer, vocabulary);
  if (tokens.ok() && (*tokens)->count() < 2) {
    return fail(Error::kInvalidData, compose("the text ", path.string(), " is too short: one token predicts nothing."));
  }
  return tokens;
}

Result<std::shared_ptr<const Tokens>> open_tokens(const Config& config, std::string_view list) {
  const DataConfig& data = config.data;
  const auto tokenizer = make_tokenizer(data.tokenizer);
  if (!tokenizer) return tokenizer.failure();
  const auto path = obtain_corpus(data.corpus);
  if (!path) return path.failure();
  const bool are_listed = !list.empty();
  auto tokens = are_listed ? open_listed(*path, data.validation_fraction, config.model.vocabulary, list)
                           : open_text(*path, data.validation_fraction, **tokenizer, config.model.vocabulary);
  const bool is_text = !are_listed && (tokens.ok() || !names_shards(*path));
  if (!tokens && is_text && tokens.failure().error == Error::kInvalidData) {
    return fail(
        Error::kInvalidData,
        tokens.failure().message + " Set data.corpus to \"austen\", \"kjv\", the path of a text file, or shards.");
  }
  if (!tokens) return tokens;
  if (const Status enough = check_length(**tokens, config.model.context); !enough) return enough.failure();
  return tokens;
}

}  // namespace shoal
