// Reads heads between brackets. Angle brackets count as brackets only where a name stands before them, which is true of
// templates and of nothing else that a declaration's head may hold.
#include "tests/tidy/outline.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace shoal::tidy {
namespace {

struct ParameterList {
  std::size_t open = 0;
  std::size_t close = 0;
};

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

char last_solid(std::string_view text) {
  text = trimmed(text);
  return text.empty() ? '\0' : text.back();
}

std::string_view last_word(std::string_view text) {
  text = trimmed(text);
  std::size_t begin = text.size();
  while (begin > 0 && is_word_character(text[begin - 1])) --begin;
  return text.substr(begin);
}

std::string_view first_word(std::string_view text) {
  text = trimmed(text);
  std::size_t end = 0;
  while (end < text.size() && is_word_character(text[end])) ++end;
  return text.substr(0, end);
}

// The position after the `>` that closes the `<` at `open`.
std::size_t after_angle(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '<') ++depth;
    if (text[i] == '(' || text[i] == '{' || text[i] == '[') i = matching_bracket(text, i);
    if (i < text.size() && text[i] == '>' && text[i - 1] != '-' && --depth == 0) return i + 1;
  }
  return text.size();
}

// Without `template <...>`, `[[...]]` and access labels in front.
std::string_view declaration_of(std::string_view head) {
  for (;;) {
    head = trimmed(head);
    if (head.starts_with("[[")) {
      head.remove_prefix(std::min(matching_bracket(head, 0) + 1, head.size()));
    } else if (first_word(head) == "template") {
      head.remove_prefix(after_angle(head, std::min(head.find('<'), head.size())));
    } else {
      return head;
    }
  }
}

std::optional<ParameterList> operator_parameters(std::string_view declaration) {
  const auto places = find_word(declaration, "operator");
  if (places.empty()) return std::nullopt;
  std::size_t open = declaration.find('(', places.front());
  if (open == std::string_view::npos) return std::nullopt;
  if (trimmed(declaration.substr(places.front() + 8, open - places.front() - 8)).empty()) {
    open = declaration.find('(', open + 1);  // operator()
    if (open == std::string_view::npos) return std::nullopt;
  }
  return ParameterList{open, matching_bracket(declaration, open)};
}

std::optional<ParameterList> parameter_list(std::string_view declaration) {
  if (const auto found = operator_parameters(declaration)) return found;
  for (std::size_t i = 0; i < declaration.size(); ++i) {
    const std::string_view before = declaration.substr(0, i);
    if (declaration[i] == '=') return std::nullopt;
    if (declaration[i] == '<' && is_word_character(last_solid(before))) i = after_angle(declaration, i) - 1;
    if (declaration[i] == '[') i = matching_bracket(declaration, i);
    if (i >= declaration.size() || declaration[i] != '(') continue;
    const std::size_t close = matching_bracket(declaration, i);
    const bool named = is_word_character(last_solid(before)) || last_solid(before) == '>';
    if (named && !is_one_of(last_word(before), {"noexcept", "decltype", "alignas", "explicit", "requires"})) {
      return ParameterList{i, close};
    }
    i = close;
  }
  return std::nullopt;
}

std::size_t count_items(std::string_view list) {
  if (trimmed(list).empty() || trimmed(list) == "void") return 0;
  std::size_t items = 1;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '<' && is_word_character(last_solid(list.substr(0, i)))) i = after_angle(list, i) - 1;
    if (i < list.size() && (list[i] == '(' || list[i] == '{' || list[i] == '[')) i = matching_bracket(list, i);
    if (i < list.size() && list[i] == ',') ++items;
  }
  return items;
}

// True in `Ledger(int n) : count_{n}, ...`: the brace that follows initialises a member and opens no body.
bool ends_in_member_name(std::string_view declaration, const ParameterList& list) {
  std::string_view rest = trimmed(declaration.substr(std::min(list.close + 1, declaration.size())));
  if (first_word(rest) == "noexcept") rest = trimmed(rest.substr(8));
  const char last = last_solid(rest);
  return rest.starts_with(':') && (is_word_character(last) || last == '>');
}

bool holds_assignment(std::string_view declaration) {
  for (std::size_t i = 0; i < declaration.size(); ++i) {
    if (declaration[i] == '(' || declaration[i] == '[') i = matching_bracket(declaration, i);
    if (i < declaration.size() && declaration[i] == '<' && is_word_character(last_solid(declaration.substr(0, i)))) {
      i = after_angle(declaration, i) - 1;
    }
    if (i < declaration.size() && declaration[i] == '=') return find_word(declaration, "operator").empty();
  }
  return false;
}

class Reader {
 public:
  explicit Reader(const SourceFile& source) : code_(source.code) {}

  Outline run() {
    for (; at_ < code_.size(); ++at_) step();
    return std::move(outline_);
  }

 private:
  enum class Scope { kNamespace, kType, kEnumeration };
  struct Open {
    Scope scope;
    std::size_t type_index;  // into outline_.types, for kType
  };

  void step() {
    switch (code_[at_]) {
      case '(':
        at_ = matching_bracket(code_, at_);
        if (is_macro_line()) head_begin_ = at_ + 1;
        break;
      case '[': at_ = matching_bracket(code_, at_); break;
      case ';': end_declaration(); break;
      case '{': open_brace(); break;
      case '}': close_brace(); break;
      case ':':
        if (is_one_of(trimmed(head()), {"public", "private", "protected"})) head_begin_ = at_ + 1;
        break;
      default: break;
    }
  }

  // Says if the head is `NAME(...)` in capitals, outside of types and without a body: a macro that ends by itself.
  [[nodiscard]] bool is_macro_line() const {
    const std::string_view name = first_word(head());
    const std::size_t next = code_.find_first_not_of(" \t\r\n", std::min(at_ + 1, code_.size()));
    const bool has_more = next != std::string_view::npos && (code_[next] == '{' || code_[next] == ';');
    const bool is_alone = trimmed(head().substr(0, head().find('('))) == name;
    return scope() == Scope::kNamespace && is_alone && !has_more && !name.empty() &&
           std::ranges::none_of(name, [](char c) { return c >= 'a' && c <= 'z'; });
  }

  [[nodiscard]] std::string_view head() const { return code_.substr(head_begin_, at_ - head_begin_); }
  [[nodiscard]] Scope scope() const { return scopes_.empty() ? Scope::kNamespace : scopes_.back().scope; }
  [[nodiscard]] std::size_t head_line() const {
    return line_at(code_, std::min(code_.find_first_not_of(" \t\r\n", head_begin_), at_));
  }

  void open_brace() {
    const std::string_view declaration = declaration_of(head());
    const std::string_view word = first_word(declaration);
    if (scope() == Scope::kEnumeration) return skip_initialiser();
    if (word == "namespace" || word == "extern" || trimmed(declaration) == "inline namespace") {
      return open_scope({Scope::kNamespace, 0});
    }
    if (word == "enum") return open_scope({Scope::kEnumeration, 0});
    if (is_one_of(word, {"class", "struct", "union"})) return open_type(declaration);
    const bool is_lambda = holds_assignment(declaration) && last_solid(declaration) == ')';
    const auto list = parameter_list(declaration);
    if (list && !ends_in_member_name(declaration, *list)) return read_function(declaration, *list);
    if (is_lambda) return read_function(declaration, {declaration.size(), declaration.size()});
    skip_initialiser();
  }

  void close_brace() {
    if (scope() == Scope::kType) outline_.types[scopes_.back().type_index].body_end = at_;
    if (!scopes_.empty()) scopes_.pop_back();
    head_begin_ = at_ + 1;
  }

  void open_scope(Open opened) {
    scopes_.push_back(opened);
    head_begin_ = at_ + 1;
  }

  void open_type(std::string_view declaration) {
    std::string_view name = declaration.substr(0, std::min(declaration.find(':'), declaration.size()));
    name = trimmed(name);
    if (name.ends_with("final")) name.remove_suffix(5);
    outline_.types.push_back({std::string(last_word(name)), head_line(), 0, scope() == Scope::kType, at_, at_});
    open_scope({Scope::kType, outline_.types.size() - 1});
  }

  void skip_initialiser() { at_ = matching_bracket(code_, at_); }

  void read_function(std::string_view declaration, const ParameterList& list) {
    Function function = describe(declaration, list);
    function.body_begin = at_;
    at_ = std::min(matching_bracket(code_, at_), code_.size() - 1);
    function.body_end = at_;
    function.last_line = line_at(code_, at_);
    outline_.functions.push_back(std::move(function));
    head_begin_ = at_ + 1;
  }

  [[nodiscard]] Function describe(std::string_view declaration, const ParameterList& list) const {
    Function function;
    function.name = std::string(last_word(declaration.substr(0, list.open)));
    function.head = std::string(declaration);
    function.first_line = function.last_line = head_line();
    if (list.open < list.close) {
      function.parameter_count = count_items(declaration.substr(list.open + 1, list.close - list.open - 1));
    }
    return function;
  }

  void end_declaration() {
    const std::string_view declaration = declaration_of(head());
    const std::string_view word = first_word(declaration);
    const bool is_plain = !is_one_of(word, {"", "using", "friend", "typedef", "static_assert", "enum", "namespace"});
    if (is_plain && scope() != Scope::kEnumeration) {
      const auto list = parameter_list(declaration);
      const bool is_macro_call = list && trimmed(declaration.substr(0, list->open)) == word;
      if (list && !(is_macro_call && scope() == Scope::kNamespace)) {
        outline_.functions.push_back(describe(declaration, *list));
      } else if (!list && scope() == Scope::kType && !is_one_of(word, {"static", "class", "struct", "union"})) {
        outline_.types[scopes_.back().type_index].field_count += count_items(declaration);
      }
    }
    head_begin_ = at_ + 1;
  }

  std::string_view code_;
  Outline outline_;
  std::vector<Open> scopes_;
  std::size_t at_ = 0;
  std::size_t head_begin_ = 0;
};

}  // namespace

Outline outline_of(const SourceFile& source) { return Reader(source).run(); }

std::vector<Lambda> lambdas_in(const SourceFile& source, const Function& function) {
  const std::string_view code = source.code;
  std::vector<Lambda> lambdas;
  for (std::size_t i = function.body_begin; i < function.body_end; ++i) {
    if (code[i] != '[') continue;
    const char before = last_solid(code.substr(0, i));
    const std::size_t close = matching_bracket(code, i);
    const bool follows_value = is_word_character(before) && last_word(code.substr(0, i)) != "return";
    if (follows_value || before == ')' || before == ']') continue;  // a subscript
    const std::size_t parameters = code.find_first_not_of(" \n", close + 1);
    if (parameters == std::string_view::npos || (code[parameters] != '(' && code[parameters] != '{')) continue;
    const std::size_t from = code[parameters] == '(' ? matching_bracket(code, parameters) : parameters;
    const std::size_t open = code.find_first_of("{;", from);
    if (open == std::string_view::npos || code[open] == ';') continue;
    const std::size_t end = std::min(matching_bracket(code, open), function.body_end);
    const std::size_t lines = line_at(code, end) - line_at(code, open);
    lambdas.push_back({line_at(code, i), lines <= 1 ? 1 : lines - 1});
    i = end;
  }
  return lambdas;
}

}  // namespace shoal::tidy
