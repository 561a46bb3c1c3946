// Padding is the second guess, where the number of rows allows it.
#include "launch/commands/run/vocabulary_advice.h"

#include "runtime/base/compose.h"
#include "runtime/base/config_file.h"

namespace shoal {
namespace {

// Vocabularies are padded to a multiple of 64 or more, for speed; rarely to a multiple of 8.
constexpr int kPaddingMultiple = 8;

bool can_be_padded(int unpadded, int described) {
  return described % kPaddingMultiple == 0 && described > unpadded && described <= unpadded + kPaddingMax;
}

}  // namespace

std::string advice_on_vocabulary(const VocabularyChoice& chosen, int described) {
  if (chosen.extra != 0 && chosen.tokens <= described) {
    return compose(". Leave model.extra_tokens out, or set ", described - chosen.tokens);
  }
  std::string advice =
      ". Name the tokenizer of the model: --set data.tokenizer=FILE. A tokenizer.json beside config.json is taken by "
      "itself";
  for (const int unpadded : {chosen.tokens, *named_vocabulary("gpt2")}) {
    if (!can_be_padded(unpadded, described)) continue;
    return compose(advice, ". Only if its tokenizer has ", unpadded, " tokens, the other ", described - unpadded,
                   " rows are padding: ",
                   unpadded == chosen.tokens ? compose("--set model.extra_tokens=", described - unpadded, ".")
                                             : "they are GPT-2's: --set data.tokenizer=gpt2.");
  }
  return advice;
}

}  // namespace shoal
