// Bytes as tokens: the byte is its own number.
#include "runtime/data/tokenizer.h"

#include "runtime/base/compose.h"

namespace shoal {

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
  CHECK(token >= 0 && token < 256, "a byte token is 0..255");
  return std::string(1, static_cast<char>(token));
}

Result<std::shared_ptr<const Tokenizer>> make_tokenizer(const std::string& name) {
  if (name == "bytes") return std::shared_ptr<const Tokenizer>(std::make_shared<ByteTokenizer>());
  return fail(Error::kUsage,
              compose("data.tokenizer = \"", name,
                      "\": not in this version. Use \"bytes\", where each byte of the text is a token."));
}

}  // namespace shoal
