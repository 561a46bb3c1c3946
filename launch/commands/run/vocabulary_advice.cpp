// Padding is the second guess, where the number of rows allows it.
#include "launch/commands/run/vocabulary_advice.h"

#include "runtime/base/compose.h"
#include "runtime/base/config_file.h"

namespace shoal {
namespace {

// Vocabularies are padded to a multiple of 64 or more, for speed; rarely to a multiple of 8.
constexpr int kPaddingMultiple = 8;
constexpr int kPaddingMax = 1024;

bool can_be_padded(int unpadded, int described) {
  return described % kPaddingMultiple == 0 && described > unpadded && described <= unpadded + kPaddingMax;
}

}  // namespace

std::string advice_on_vocabulary(int chosen, int described) {
  std::string advice = compose(". The model's vocabulary is ", described,
                               ": leave [model] out, and if the model has a tokenizer of its own, name it with --set "
                               "data.tokenizer=FILE");
  for (const int unpadded : {chosen, *named_vocabulary("gpt2")}) {
    if (!can_be_padded(unpadded, described)) continue;
    return compose(advice, ". Only if its tokenizer has ", unpadded, " tokens, the other ", described - unpadded,
                   " rows are padding: ",
                   unpadded == chosen ? compose("--set model.extra_tokens=", described - unpadded, ".")
                                      : "they are GPT-2's: --set data.tokenizer=gpt2.");
  }
  return advice;
}

}  // namespace shoal
