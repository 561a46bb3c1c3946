// Says what to do if the vocabulary of a checkpoint to import is not that of the chosen tokenizer. Another tokenizer is
// the first guess: a model that was trained with one of its own has every row in use, and to cut rows off destroys it.
#pragma once

#include <string>

namespace shoal {

// Models have no more rows than these behind the tokens of their tokenizer: padding, and special tokens.
inline constexpr int kPaddingMax = 1024;

struct VocabularyChoice {
  int tokens = 0;  // of the tokenizer
  int extra = 0;   // model.extra_tokens
};

// Returns the end of a sentence: the remedy where config.json has `described` tokens, and the choice others. Pure.
[[nodiscard]] std::string advice_on_vocabulary(const VocabularyChoice& chosen, int described);

}  // namespace shoal
