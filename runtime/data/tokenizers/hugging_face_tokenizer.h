// A tokenizer as Hugging Face's transformers loads it: tokenizer.json and tokenizer_config.json.
//
// Its byte-level BPE writes each byte as a printable character (GPT-2's table) and merges listed pairs, where ours
// merges any two neighbours that are a token together. So each way to cut a token into two tokens is listed, in the
// order of the tokens' ranks, and a piece that is a token is left whole. A text gets the same numbers from both, but
// for the end of text: written out in a text it is one token there, and ordinary characters here.
#pragma once

#include <string>

#include "runtime/data/tokenizers/tokenizer.h"

namespace shoal {

struct HuggingFaceTokenizer {
  std::string tokenizer_json;  // tokenizer.json
  std::string config_json;     // tokenizer_config.json
};

// Returns tokenizer_config.json alone.
[[nodiscard]] std::string tokenizer_config_json(const Tokenizer& tokenizer, int context);

// context: the most tokens that the model takes.
[[nodiscard]] HuggingFaceTokenizer hugging_face_tokenizer(const Tokenizer& tokenizer, int context);

}  // namespace shoal
