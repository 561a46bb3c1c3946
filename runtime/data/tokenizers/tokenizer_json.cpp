// Every key that decides about tokens is read, and a value that is not known is refused by its key.
#include "runtime/data/tokenizers/tokenizer_json.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/sha256.h"
#include "runtime/data/tokenizers/byte_level.h"
#include "runtime/data/tokenizers/ranks.h"

namespace shoal {
namespace {

using Json = nlohmann::json;
using Numbers = std::unordered_map<std::string, std::int32_t>;  // by the printed form of a token

// Digest of GPT-2's tokens in the order of their ranks, each behind its size and a colon.
constexpr std::string_view kGpt2TokensSha256 = "e9e45993123ec6a64707a12a963fa02d1c51d715b1f66650519ed8c417fbfaff";
constexpr std::array<std::string_view, 4> kEndsOfText = {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>"};

// Carries what is wrong with a file out of the parser.
struct Refusal {
  std::string why;
};

[[noreturn]] void refuse(std::string why) { throw Refusal{std::move(why)}; }

// For a sentence: a long text is cut, and of a list or an object its kind is said, however much is nested in it.
std::string shown(const Json& value) {
  constexpr std::size_t kShownMax = 64;  // bytes
  if (value.is_structured()) return compose("an ", value.type_name());
  if (!value.is_string() || value.get_ref<const std::string&>().size() <= kShownMax) return value.dump();
  const Json begin = value.get_ref<const std::string&>().substr(0, kShownMax);
  return begin.dump(-1, ' ', false, Json::error_handler_t::replace) + "...";
}

// The member, or null where it is absent.
const Json& member(const Json& object, const char* key) {
  static const Json null;
  if (!object.is_object()) return null;
  const auto found = object.find(key);
  return found == object.end() ? null : *found;
}

bool is_type(const Json& step, std::string_view type) { return member(step, "type") == Json(type); }

void check_normalizer(const Json& normalizer) {
  if (normalizer.is_null() || is_type(normalizer, "NFC")) return;
  refuse(compose("\"normalizer\": only NFC is known, and it is ", shown(member(normalizer, "type"))));
}

bool is_byte_level(const Json& step, bool uses_regex) {
  if (!is_type(step, "ByteLevel")) return false;
  const Json& regex = member(step, "use_regex");
  return (regex.is_null() || regex == Json(true)) == uses_regex;
}

std::optional<Pieces> pieces_of_split(const Json& split) {
  const bool is_plain =
      is_type(split, "Split") && member(split, "behavior") == Json("Isolated") && member(split, "invert") != Json(true);
  if (!is_plain) return std::nullopt;
  const Json& expression = member(member(split, "pattern"), "Regex");
  for (const Pieces pieces : {Pieces::kLlama3, Pieces::kQwen2}) {
    if (expression == Json(expression_of(pieces))) return pieces;
  }
  return std::nullopt;
}

std::optional<Pieces> pieces_of_sequence(const Json& steps) {
  if (!steps.is_array() || steps.size() != 2) return std::nullopt;
  if (is_byte_level(steps[1], false)) return pieces_of_split(steps[0]);
  const bool are_digits = is_type(steps[0], "Digits") && member(steps[0], "individual_digits") == Json(true);
  return are_digits && is_byte_level(steps[1], true) ? std::optional(Pieces::kGpt2Digits) : std::nullopt;
}

Pieces pieces_of(const Json& described) {
  const Json& steps = member(described, "pretokenizers");
  const Json& last = steps.is_array() && !steps.empty() ? steps.back() : described;
  if (member(last, "add_prefix_space") == Json(true)) {
    refuse("\"pre_tokenizer\" puts a space before each text (add_prefix_space), which is not taken");
  }
  const auto pieces = is_byte_level(described, true) ? Pieces::kGpt2 : pieces_of_sequence(steps);
  if (pieces) return *pieces;
  refuse("\"pre_tokenizer\" is none of those of GPT-2, Llama 3, Qwen2 and SmolLM");
}

// Keys of "model" that change what merging means.
void check_model(const Json& model) {
  if (!model.is_object()) refuse("it has no \"model\"");
  if (!is_type(model, "BPE") && !member(model, "type").is_null()) {
    refuse(compose("\"model\" is of the type ", shown(member(model, "type")), ", and only \"BPE\" is taken"));
  }
  if (member(model, "byte_fallback") == Json(true)) {
    refuse("\"model\" falls back to bytes (byte_fallback): such an encoding is not of bytes, and not taken");
  }
  for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
    const Json& value = member(model, key);
    const bool is_off = value.is_null() || value == Json("") || value == Json(0);
    if (!is_off) refuse(compose("\"model\" has a ", key, ", which is not taken"));
  }
}

std::int32_t number_of(const Json& value, const std::string& name) {
  const bool is_number = value.is_number_unsigned() && value.get<std::uint64_t>() < kRanksMax;
  if (!is_number) refuse(compose("the number of the token ", shown(name), " is none below ", kRanksMax));
  return value.get<std::int32_t>();
}

class Parsing {
 public:
  explicit Parsing(const Json& file) : file_(file), bpe_(member(file, "model")) {}

  BpeModel model() {
    check_normalizer(member(file_, "normalizer"));
    check_model(bpe_);
    model_.pieces = pieces_of(member(file_, "pre_tokenizer"));
    model_.takes_whole_pieces = member(bpe_, "ignore_merges") == Json(true);
    read_added();
    read_vocabulary();
    check_numbers();
    read_merges();
    return std::move(model_);
  }

 private:
  void place(std::int32_t number, std::string bytes) {
    const auto at = static_cast<std::size_t>(number);
    if (at >= model_.tokens.size()) model_.tokens.resize(at + 1);
    if (!model_.tokens[at].empty()) refuse(compose("the number ", number, " is there twice"));
    if (bytes.empty()) refuse(compose("the token ", number, " is empty"));
    if (bytes.size() > kTokenBytesMax) {
      refuse(compose("the token ", number, " has more than ", kTokenBytesMax, " bytes"));
    }
    model_.tokens[at] = std::move(bytes);
  }

  void read_added() {
    const Json& added = member(file_, "added_tokens");
    if (!added.is_null() && !added.is_array()) refuse("\"added_tokens\" is no list");
    for (const Json& token : added) {
      const Json& name = member(token, "content");
      if (!name.is_string()) refuse("one of \"added_tokens\" has no \"content\"");
      if (is_white_space(name.get<std::string>())) {
        refuse(compose("\"added_tokens\" has white space, ", shown(name),
                       ", which is taken out of any text before it is "
                       "cut into pieces: such an encoding is not taken"));
      }
      const auto number = number_of(member(token, "id"), name.get<std::string>());
      place(number, name.get<std::string>());
      specials_.emplace(name.get<std::string>(), number);
      model_.specials.push_back(number);
    }
    std::ranges::sort(model_.specials);
    for (const std::string_view name : kEndsOfText) {
      const auto found = specials_.find(std::string(name));
      if (found != specials_.end() && !model_.end_of_text) model_.end_of_text = found->second;
    }
  }

  // Special tokens may be listed here, too, under the same number.
  void read_vocabulary() {
    const Json& vocabulary = member(bpe_, "vocab");
    if (!vocabulary.is_object()) refuse("\"model\" has no \"vocab\"");
    for (const auto& [name, value] : vocabulary.items()) {
      const std::int32_t number = number_of(value, name);
      const auto special = specials_.find(name);
      if (special != specials_.end() && special->second == number) continue;
      auto bytes = bytes_of_printed(name);
      if (!bytes) refuse(compose("the token ", shown(name), " is not of bytes in GPT-2's printable form"));
      place(number, std::move(*bytes));
      numbers_.emplace(name, number);
    }
  }

  void check_numbers() const {
    const auto gap = std::ranges::find_if(model_.tokens, [](const std::string& token) { return token.empty(); });
    if (gap != model_.tokens.end()) refuse(compose("no token has the number ", gap - model_.tokens.begin()));
    for (int byte = 0; byte < 256; ++byte) {
      const char character = static_cast<char>(byte);
      if (!numbers_.contains(printed({&character, 1}))) refuse(compose("the byte ", byte, " is no token"));
    }
  }

  std::int32_t known(const std::string& name) const {
    const auto found = numbers_.find(name);
    if (found == numbers_.end()) refuse(compose("a merge names ", shown(name), ", which is no token"));
    return found->second;
  }

  // A merge is a list of two tokens, or both in one text with a space between.
  static std::pair<std::string, std::string> parts_of(const Json& merge) {
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
      return {merge[0], merge[1]};
    const std::string both = merge.is_string() ? merge.get<std::string>() : std::string();
    const std::size_t space = both.find(' ');
    if (space == std::string::npos) refuse(compose("a merge is ", shown(merge), ", and not two tokens"));
    return {both.substr(0, space), both.substr(space + 1)};
  }

  void read_merges() {
    const Json& merges = member(bpe_, "merges");
    if (!merges.is_array()) refuse("\"model\" has no \"merges\"");
    model_.merges.emplace();
    for (const Json& merge : merges) {
      const auto [left, right] = parts_of(merge);
      (void)known(left + right);
      model_.merges->emplace_back(known(left), known(right));
    }
  }

  const Json& file_;
  const Json& bpe_;
  BpeModel model_;
  Numbers specials_;
  Numbers numbers_;
};

// Ends a text before the next one begins.
void add(Sha256& digest, const std::string& text) { digest.update(compose(text.size(), ":", text)); }

}  // namespace

Result<BpeModel> parse_tokenizer_json(std::string_view text, const std::string& where) {
  const Json file = Json::parse(text, nullptr, false);
  if (file.is_discarded()) return fail(Error::kInvalidData, where + " is not a tokenizer.json: it is no JSON");
  try {
    return Parsing(file).model();
  } catch (const Refusal& refusal) {
    return fail(Error::kInvalidData, compose(where, " cannot be used as a tokenizer: ", refusal.why));
  }
}

std::string digest_of(const BpeModel& model) {
  Sha256 digest;
  for (const std::string& token : model.tokens) add(digest, token);
  for (const std::int32_t special : model.specials) add(digest, compose("special ", special));
  if (model.end_of_text) add(digest, compose("end ", *model.end_of_text));
  add(digest, compose("pieces ", static_cast<int>(model.pieces), model.takes_whole_pieces ? " whole" : ""));
  if (!model.merges) return digest.hex();
  add(digest, "merges");
  for (const auto& [left, right] : *model.merges) add(digest, compose(left, " ", right));
  return digest.hex();
}

std::string name_of(const BpeModel& model) {
  const std::size_t count = model.tokens.size();
  if (count == 256 && model.specials.empty() && (!model.merges || model.merges->empty())) {
    for (std::size_t byte = 0; byte < count; ++byte) {
      if (model.tokens[byte] != std::string(1, static_cast<char>(byte))) return {};
    }
    return "bytes";
  }
  constexpr std::size_t kEnd = kGpt2RanksCount;
  const bool may_be_gpt2 = count == kEnd + 1 && model.pieces == Pieces::kGpt2 && model.end_of_text == kEnd &&
                           model.specials.size() == 1 && model.tokens[kEnd] == "<|endoftext|>";
  if (!may_be_gpt2) return {};
  Sha256 digest;
  for (std::size_t token = 0; token < kEnd; ++token) add(digest, model.tokens[token]);
  return digest.hex() == kGpt2TokensSha256 ? "gpt2" : "";
}

}  // namespace shoal
