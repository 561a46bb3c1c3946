// PCRE2 does the matching and the check for UTF-8; every match begins where the last one ended.
#include "runtime/data/tokenizers/pretokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/data/utf8_stream.h"

namespace shoal {
namespace {

// Some alternative of each matches at every character, so that the pieces leave no gap.
constexpr std::string_view kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
// White space before a digit is the end of what lies between digits.
constexpr std::string_view kGpt2Digits =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?![^\s\p{N}])|\s+)";
constexpr std::string_view kLlama3 = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
                                     R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
                                    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Names Unicode's White_Space in place of PCRE2's own.
std::string for_pcre2(std::string_view expression) {
  std::string text;
  for (std::size_t at = 0; at < expression.size(); ++at) {
    const std::string_view two = expression.substr(at, 2);
    const bool is_white = two == R"(\s)";
    const bool is_other = two == R"(\S)";
    text += is_white ? R"(\p{White_Space})" : is_other ? R"(\P{White_Space})" : expression.substr(at, 1);
    at += is_white || is_other ? 1 : 0;
  }
  return text;
}

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

std::string words_of(int error) {
  std::array<PCRE2_UCHAR, 256> words{};
  pcre2_get_error_message(error, words.data(), words.size());
  return reinterpret_cast<const char*>(words.data());
}

bool says_not_utf8(int result) { return result <= PCRE2_ERROR_UTF8_ERR1 && result >= PCRE2_ERROR_UTF8_ERR21; }

std::string setting_of(std::uint32_t what) {
  const int length = pcre2_config(what, nullptr);
  ENSURE(length > 0, "PCRE2 tells its versions");
  std::string text(static_cast<std::size_t>(length), '\0');
  pcre2_config(what, text.data());
  text.resize(text.size() - 1);  // its terminating zero
  return text;
}

}  // namespace

struct Pretokenizer::Pattern {
  pcre2_code* code = nullptr;
  bool takes_ends_of_lines = false;  // behind marks
  ~Pattern() { pcre2_code_free(code); }
};

namespace {

// The state of matching: one per call of cut(), because the pattern is shared between threads.
class Matcher {
 public:
  explicit Matcher(const pcre2_code* code)
      : code_(code),
        data_(pcre2_match_data_create_from_pattern(code, nullptr), &pcre2_match_data_free),
        context_(pcre2_match_context_create(nullptr), &pcre2_match_context_free) {
    ENSURE(data_ != nullptr && context_ != nullptr, "there is memory for a match");
    // A run of white space is gone back over character by character: as many steps as it is long, none of them twice.
    pcre2_set_match_limit(context_.get(), std::numeric_limits<std::uint32_t>::max());
  }

  // Returns how many bytes at the beginning are UTF-8.
  [[nodiscard]] std::size_t valid_length(std::string_view text) const {
    const int result = match(text, 0);
    return says_not_utf8(result) ? pcre2_get_startchar(data_.get()) : text.size();
  }

  // The length of the piece at the beginning of a text that is UTF-8 and not empty.
  [[nodiscard]] std::size_t piece_length(std::string_view text) const {
    const int result = match(text, PCRE2_NO_UTF_CHECK);
    ENSURE(result > 0, compose("the pattern matches everywhere: ", words_of(result)));
    return pcre2_get_ovector_pointer(data_.get())[1];
  }

 private:
  [[nodiscard]] int match(std::string_view text, std::uint32_t options) const {
    return pcre2_match(code_, units(text), text.size(), 0, options, data_.get(), context_.get());
  }

  const pcre2_code* code_;
  std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data_;
  std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)> context_;
};

template <class Take>
void cut_each(const pcre2_code* code, std::string_view text, Take take) {
  const Matcher matcher(code);
  while (!text.empty()) {
    std::string_view valid = text.substr(0, matcher.valid_length(text));
    text.remove_prefix(valid.size());
    while (!valid.empty()) {
      const std::string_view piece = valid.substr(0, matcher.piece_length(valid));
      take(piece);
      valid.remove_prefix(piece.size());
    }
    if (text.empty()) break;
    take(text.substr(0, 1));
    text.remove_prefix(1);
  }
}

// Bytes behind a piece that decide whether it ends there: those of a character, which ends a run of others, or two
// letters, which make an apostrophe an ending.
constexpr std::size_t kLookAheadBytes = 4;

bool is_ascii_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool is_ascii_white(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Unicode's White_Space.
bool is_white(std::string_view character) {
  if (character.size() == 1) return is_ascii_white(character[0]);
  constexpr std::array<std::string_view, 8> kLong = {"\u0085", "\u00A0", "\u1680", "\u2028",
                                                     "\u2029", "\u202F", "\u205F", "\u3000"};
  const bool is_of_general_punctuation = character >= "\u2000" && character <= "\u200A";
  return is_of_general_punctuation || std::ranges::find(kLong, character) != kLong.end();
}

}  // namespace

std::string_view expression_of(Pieces pieces) {
  switch (pieces) {
    case Pieces::kGpt2: return kGpt2;
    case Pieces::kGpt2Digits: return kGpt2Digits;
    case Pieces::kLlama3: return kLlama3;
    case Pieces::kQwen2: return kQwen2;
  }
  return {};
}

Pretokenizer::Pretokenizer(Pieces pieces) : pattern_(std::make_unique<Pattern>()) {
  const std::string expression = for_pcre2(expression_of(pieces));
  pattern_->takes_ends_of_lines = pieces == Pieces::kLlama3 || pieces == Pieces::kQwen2;
  int error = 0;
  PCRE2_SIZE at = 0;
  constexpr std::uint32_t kOptions = PCRE2_UTF | PCRE2_ANCHORED;
  pattern_->code = pcre2_compile(units(expression), expression.size(), kOptions, &error, &at, nullptr);
  ENSURE(pattern_->code != nullptr, compose("PCRE2 takes the pattern up to ", at, ": ", words_of(error)));
  pcre2_jit_compile(pattern_->code, PCRE2_JIT_COMPLETE);  // on failure, matching is slower and the same
}

Pretokenizer::~Pretokenizer() = default;

std::vector<std::string_view> Pretokenizer::cut(std::string_view text) const {
  std::vector<std::string_view> pieces;
  cut_each(pattern_->code, text, [&pieces](std::string_view piece) { pieces.push_back(piece); });
  return pieces;
}

std::size_t Pretokenizer::settled_end(std::string_view window) const {
  std::size_t settled = 0;
  std::size_t end = 0;
  cut_each(pattern_->code, window, [&](std::string_view piece) {
    end += piece.size();
    const bool is_settled = end + kLookAheadBytes <= window.size();
    if (is_settled && !is_white(last_character(piece))) settled = end;
  });
  return settled;
}

// Returns the first place in [from, to) between a character that ends a piece before white space and ASCII white space.
// A piece of white space depends on what follows it alone: no piece spans such a place, and neither side knows of the
// other. Marks end no piece before the end of a line where the expression gives it to them.
std::size_t Pretokenizer::find_seam(std::string_view text, std::size_t from, std::size_t to) const {
  for (std::size_t at = from; at < to; ++at) {
    if (!is_ascii_white(text[at])) continue;
    const std::string_view before = last_character(text.substr(0, at));
    const bool ends_piece = pattern_->takes_ends_of_lines ? before.size() == 1 && is_ascii_alphanumeric(before[0])
                                                          : !before.empty() && !is_white(before);
    if (ends_piece) return at;
  }
  return std::string_view::npos;
}

std::size_t Pretokenizer::seam_after(std::string_view text, std::size_t wanted) const {
  const std::size_t least = std::max<std::size_t>(wanted, 1);
  for (std::size_t window = 2 * least;; window *= 2) {
    const std::size_t seam = find_seam(text, least, std::min(window, text.size()));
    if (seam != std::string_view::npos) return seam;
    if (window >= text.size()) return text.size();
    const std::size_t settled = settled_end(text.substr(0, window));
    if (settled >= least) return settled;
  }
}

bool is_white_space(std::string_view text) {
  if (text.empty()) return false;
  while (!text.empty()) {
    const std::string_view last = last_character(text);
    if (!is_white(last)) return false;
    text.remove_suffix(last.size());
  }
  return true;
}

std::string unicode_version() { return setting_of(PCRE2_CONFIG_UNICODE_VERSION); }
std::string pcre2_version() { return setting_of(PCRE2_CONFIG_VERSION); }

}  // namespace shoal
