// The tokenizer of a published model: tokenizer.json, as Hugging Face's library `tokenizers` writes it. The other way
// round: hugging_face_tokenizer.h.
//
// Taken are byte-level encodings whose expression for pieces is known (pretokenizer.h): those of GPT-2, Llama 3, Qwen2,
// Qwen3 and SmolLM. Two things differ from that library. A text is taken as it is where the file asks for Unicode's
// NFC, because decoding gives back a text's very bytes here. No text is encoded as a special token, also where its name
// is written out; white space is no such name, and a file that has it as one (Pythia's, phi's) is refused.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/data/tokenizers/bpe_tokenizer.h"

namespace shoal {

// Returns the encoding. The end of a text is the first of "<|endoftext|>", "<|end_of_text|>", "</s>" and "<eos>" that
// is a special token. Errors: kInvalidData with what is wrong, or what is not taken; `where` names the file for the
// sentence.
[[nodiscard]] Result<BpeModel> parse_tokenizer_json(std::string_view text, const std::string& where);

// Returns a digest of all that decides about tokens, in hex: equal for files that differ in their white space.
[[nodiscard]] std::string digest_of(const BpeModel& model);

// Returns the name of the tokenizer that has the same tokens (bytes, gpt2); empty: none with a name has them.
[[nodiscard]] std::string name_of(const BpeModel& model);

}  // namespace shoal
