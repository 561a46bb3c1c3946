// Says what to do if the vocabulary of a checkpoint to import is not that of the chosen tokenizer. The tokenizer is
// the first guess: a model that was trained with one of its own has every row in use, and to cut rows off destroys it.
#pragma once

#include <string>

namespace shoal {

// Returns the end of a sentence: the remedy where config.json has `described` tokens and the tokenizer `chosen`. Pure.
[[nodiscard]] std::string advice_on_vocabulary(int chosen, int described);

}  // namespace shoal
