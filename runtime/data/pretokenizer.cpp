// PCRE2 does the matching and the check for UTF-8; every match begins where the last one ended.
#include "runtime/data/pretokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <cstdint>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"

namespace shoal {
namespace {

// Some alternative matches at every character, so that the pieces leave no gap.
constexpr std::string_view kPattern =
    "'s|'t|'re|'ve|'m|'ll|'d"
    R"(| ?\p{L}+)"
    R"(| ?\p{N}+)"
    R"(| ?[^\p{White_Space}\p{L}\p{N}]+)"
    R"(|\p{White_Space}+(?!\P{White_Space}))"
    R"(|\p{White_Space}+)";

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
  ~Pattern() { pcre2_code_free(code); }
};

namespace {

// The state of matching: one per call of cut(), because the pattern is shared between threads.
class Matcher {
 public:
  explicit Matcher(const pcre2_code* code)
      : code_(code), data_(pcre2_match_data_create_from_pattern(code, nullptr), &pcre2_match_data_free) {
    ENSURE(data_ != nullptr, "there is memory for a match");
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
    return pcre2_match(code_, units(text), text.size(), 0, options, data_.get(), nullptr);
  }

  const pcre2_code* code_;
  std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data_;
};

}  // namespace

Pretokenizer::Pretokenizer() : pattern_(std::make_unique<Pattern>()) {
  int error = 0;
  PCRE2_SIZE at = 0;
  constexpr std::uint32_t kOptions = PCRE2_UTF | PCRE2_ANCHORED;
  pattern_->code = pcre2_compile(units(kPattern), kPattern.size(), kOptions, &error, &at, nullptr);
  ENSURE(pattern_->code != nullptr, compose("PCRE2 takes the pattern up to ", at, ": ", words_of(error)));
  pcre2_jit_compile(pattern_->code, PCRE2_JIT_COMPLETE);  // on failure, matching is slower and the same
}

Pretokenizer::~Pretokenizer() = default;

std::vector<std::string_view> Pretokenizer::cut(std::string_view text) const {
  const Matcher matcher(pattern_->code);
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    std::string_view valid = text.substr(0, matcher.valid_length(text));
    text.remove_prefix(valid.size());
    while (!valid.empty()) {
      pieces.push_back(valid.substr(0, matcher.piece_length(valid)));
      valid.remove_prefix(pieces.back().size());
    }
    if (text.empty()) break;
    pieces.push_back(text.substr(0, 1));
    text.remove_prefix(1);
  }
  return pieces;
}

// No piece holds white space behind anything else, and what a piece of white space is depends on what follows it alone.
std::size_t seam_after(std::string_view text, std::size_t wanted) {
  const auto is_mark = [](char c) { return c > ' ' && c <= '~'; };
  for (std::size_t at = wanted == 0 ? 1 : wanted; at < text.size(); ++at) {
    if (is_mark(text[at - 1]) && (text[at] == ' ' || text[at] == '\n')) return at;
  }
  return text.size();
}

std::string unicode_version() { return setting_of(PCRE2_CONFIG_UNICODE_VERSION); }
std::string pcre2_version() { return setting_of(PCRE2_CONFIG_VERSION); }

}  // namespace shoal
