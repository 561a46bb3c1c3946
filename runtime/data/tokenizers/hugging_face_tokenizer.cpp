// The layout that the library `tokenizers` reads: a model with vocabulary and merges, and the steps around it.
#include "runtime/data/tokenizers/hugging_face_tokenizer.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/data/tokenizers/byte_level.h"

namespace shoal {
namespace {

using Json = nlohmann::ordered_json;

class ByteLevelBpe {
 public:
  explicit ByteLevelBpe(const Tokenizer& tokenizer) : end_(tokenizer.end_of_text()) {
    for (std::int32_t token = 0; token < tokenizer.vocabulary_size(); ++token) {
      if (token != end_) tokens_.push_back(tokenizer.bytes_of(token));
    }
    for (std::size_t rank = 0; rank < tokens_.size(); ++rank) ranks_.emplace(tokens_[rank], rank);
  }

  [[nodiscard]] Json model() const {
    Json::object_t vocabulary;  // in the order of the ranks; each is there once, and none is looked for
    for (std::size_t rank = 0; rank < tokens_.size(); ++rank) vocabulary.emplace_back(printed(tokens_[rank]), rank);
    return {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"ignore_merges", true},
            {"vocab", std::move(vocabulary)},
            {"merges", merges()}};
  }

 private:
  // Returns the merges. In their written form a part has no space, which stands between the two.
  [[nodiscard]] Json merges() const {
    Json merges = Json::array();
    for (const std::string_view token : tokens_) {
      for (std::size_t middle = 1; middle < token.size(); ++middle) {
        const std::string_view left = token.substr(0, middle);
        const std::string_view right = token.substr(middle);
        if (ranks_.contains(left) && ranks_.contains(right)) merges.push_back(printed(left) + ' ' + printed(right));
      }
    }
    return merges;
  }

  std::optional<std::int32_t> end_;
  std::vector<std::string> tokens_;                          // by rank
  std::unordered_map<std::string_view, std::size_t> ranks_;  // keys point into tokens_
};

Json byte_level() {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
}

Json added_tokens(const Tokenizer& tokenizer) {
  Json added = Json::array();
  if (const auto end = tokenizer.end_of_text()) {
    added.push_back({{"id", *end},
                     {"content", tokenizer.bytes_of(*end)},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  return added;
}

}  // namespace

std::string tokenizer_config_json(const Tokenizer& tokenizer, int context) {
  Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                 {"model_max_length", context},
                 {"clean_up_tokenization_spaces", false}};
  if (const auto end = tokenizer.end_of_text()) {
    for (const char* name : {"bos_token", "eos_token"}) config[name] = tokenizer.bytes_of(*end);
  }
  return config.dump(2) + "\n";
}

HuggingFaceTokenizer hugging_face_tokenizer(const Tokenizer& tokenizer, int context) {
  const Json described = {{"version", "1.0"},
                          {"truncation", nullptr},
                          {"padding", nullptr},
                          {"added_tokens", added_tokens(tokenizer)},
                          {"normalizer", nullptr},
                          {"pre_tokenizer", byte_level()},
                          {"post_processor", nullptr},
                          {"decoder", byte_level()},
                          {"model", ByteLevelBpe(tokenizer).model()}};
  return {described.dump(1) + "\n", tokenizer_config_json(tokenizer, context)};
}

}  // namespace shoal
