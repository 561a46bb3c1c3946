// Methods are told from functions by the lines of the class that declares them, and by `Name::` before them elsewhere.
#include "tests/tidy/figures.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "tests/tidy/outline.h"

namespace shoal::tidy {
namespace {

struct Method {
  std::string name;
  std::string path;
  std::string_view body;  // part of the blanked code
};

// Methods by folder and name of their class: two folders may have a class of one name.
using MethodsByClass = std::map<std::string, std::vector<Method>>;

std::string folder_and(const std::string& path, const std::string& name) {
  return path.substr(0, path.rfind('/') + 1) + name;
}

bool holds(const SourceFile& source, const Type& type, std::size_t line) {
  return line_at(source.code, type.body_begin) <= line && line <= line_at(source.code, type.body_end);
}

// The innermost of the types that hold the line; types.size() where none does.
std::size_t owner_of(const SourceFile& source, const std::vector<Type>& types, std::size_t line) {
  std::size_t owner = types.size();
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (holds(source, types[i], line)) owner = i;
  }
  return owner;
}

// `Name` of a head like `Result<int> Name::method(int a)`; empty for a function of no class.
std::string class_in_head(const Function& function) {
  const std::string mark = "::" + function.name + "(";
  const std::size_t at = function.head.find(mark);
  if (at == std::string::npos) return {};
  std::size_t begin = at;
  while (begin > 0 && is_word_character(function.head[begin - 1])) --begin;
  return function.head.substr(begin, at - begin);
}

bool calls(std::string_view body, const std::string& method) {
  return std::ranges::any_of(find_word(body, method), [&](std::size_t at) {
    const std::size_t end = at + method.size();
    const char before = at == 0 ? ' ' : body[at - 1];
    return end < body.size() && body[end] == '(' && before != '.' && before != '>' && before != ':';
  });
}

std::size_t calls_between_files(const std::vector<Method>& methods) {
  std::set<std::pair<std::string, std::string>> edges;
  for (const Method& caller : methods) {
    for (const Method& called : methods) {
      if (caller.path != called.path && calls(caller.body, called.name)) edges.insert({caller.name, called.name});
    }
  }
  return edges.size();
}

MethodsByClass defined_methods(const std::vector<SourceFile>& sources) {
  MethodsByClass found;
  for (const SourceFile& source : sources) {
    for (const Function& function : outline_of(source).functions) {
      const std::string owner = class_in_head(function);
      if (owner.empty() || function.body_begin == 0) continue;
      const std::string_view code = source.code;
      const auto body = code.substr(function.body_begin, function.body_end - function.body_begin);
      found[folder_and(source.path, owner)].push_back({function.name, source.path, body});
    }
  }
  return found;
}

std::vector<std::string_view> words_of(std::string_view name) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0, i = 1; i <= name.size(); ++i) {
    if (i < name.size() && std::isupper(static_cast<unsigned char>(name[i])) == 0) continue;
    words.push_back(name.substr(begin, i - begin));
    begin = i;
  }
  return words;
}

std::string in_case(std::string_view word, int (*change)(int)) {
  std::string out(word);
  std::ranges::transform(out, out.begin(), [change](unsigned char c) { return static_cast<char>(change(c)); });
  return out;
}

std::string joined(const std::vector<std::string_view>& words, const std::string& between, int (*change)(int)) {
  std::string out;
  for (const std::string_view word : words) out += (out.empty() ? "" : between) + in_case(word, change);
  return out;
}

std::vector<std::string> forms_of(const std::string& name) {
  const auto words = words_of(name);
  std::string lower_first = name;
  if (!name.empty()) lower_first[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[0])));
  return {name, lower_first, joined(words, "_", std::tolower), joined(words, "_", std::toupper),
          joined(words, "-", std::tolower)};
}

// The text of a comment's first line, without `//` and spaces.
bool begins_without_noun(std::string_view comment) {
  while (!comment.empty() && (comment.front() == '/' || comment.front() == ' ')) comment.remove_prefix(1);
  const std::size_t end =
      std::min(comment.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"), comment.size());
  return std::ranges::find(kWordsWithoutNoun, in_case(comment.substr(0, end), std::tolower)) != kWordsWithoutNoun.end();
}

// Returns where a line's comment begins: the first `//` at which the text has something and the code nothing more.
std::size_t comment_begin(std::string_view text, std::string_view code) {
  for (std::size_t at = text.find("//"); at != std::string_view::npos; at = text.find("//", at + 1)) {
    const bool is_url = at > 0 && text[at - 1] == ':';
    if (!is_url && trimmed(code.substr(std::min(at, code.size()))).empty()) return at;
  }
  return std::string_view::npos;
}

}  // namespace

std::vector<ClassFigures> classes_of(const std::vector<SourceFile>& sources) {
  const MethodsByClass defined = defined_methods(sources);
  std::vector<ClassFigures> classes;
  for (const SourceFile& source : sources) {
    const Outline outline = outline_of(source);
    std::vector<std::size_t> methods(outline.types.size() + 1, 0);
    for (const Function& function : outline.functions) {
      ++methods[owner_of(source, outline.types, function.first_line)];
    }
    for (std::size_t i = 0; i < outline.types.size(); ++i) {
      const Type& type = outline.types[i];
      if (methods[i] == 0) continue;
      ClassFigures figures{type.name, source.path, type.field_count, methods[i]};
      if (const auto found = defined.find(folder_and(source.path, type.name)); found != defined.end()) {
        std::set<std::string> files;
        for (const Method& method : found->second) files.insert(method.path);
        figures.files = files.size();
        figures.calls_between_files = calls_between_files(found->second);
      }
      classes.push_back(std::move(figures));
    }
  }
  std::ranges::stable_sort(classes, std::greater{}, [](const ClassFigures& a) { return a.fields + a.methods; });
  return classes;
}

Place longest_header(const std::vector<SourceFile>& sources) {
  Place longest;
  for (const SourceFile& source : sources) {
    const std::size_t lines = lines_of(source.text).size();
    if (source.path.ends_with(".h") && lines > longest.lines) longest = {source.path, "", lines};
  }
  return longest;
}

Place longest_function(const std::vector<SourceFile>& sources) {
  Place longest;
  for (const SourceFile& source : sources) {
    for (const Function& function : outline_of(source).functions) {
      const std::size_t lines = function.last_line - function.first_line + 1;
      if (function.body_begin != 0 && lines > longest.lines) longest = {source.path, function.name, lines};
    }
  }
  return longest;
}

CommentFigures comments_of(const SourceFile& source) {
  CommentFigures figures;
  const auto text = lines_of(source.text);
  const auto code = lines_of(source.code);
  bool is_in_block = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view code_line = i < code.size() ? code[i] : std::string_view{};
    const bool is_whole_line = trimmed(text[i]).starts_with("//");
    const std::size_t at = is_whole_line ? text[i].find("//") : comment_begin(text[i], code_line);
    const bool is_directive = !is_whole_line && trimmed(text[i]).starts_with('#');
    if (at != std::string_view::npos && !is_directive && !(is_whole_line && is_in_block)) {
      ++figures.comments;
      if (begins_without_noun(text[i].substr(at))) ++figures.without_noun;
    }
    is_in_block = is_whole_line;
  }
  return figures;
}

Findings check_comment_begins(const std::vector<SourceFile>& sources) {
  constexpr std::size_t kNamedMax = 5;
  CommentFigures all;
  std::multimap<std::size_t, std::string, std::greater<>> worst;
  for (const SourceFile& source : sources) {
    const CommentFigures one = comments_of(source);
    all.comments += one.comments;
    all.without_noun += one.without_noun;
    if (one.without_noun > 0) worst.emplace(one.without_noun, source.path);
  }
  Findings findings;
  if (1000 * all.without_noun <= kWithoutNounPerMilleMax * all.comments) return findings;
  for (const auto& [count, path] : worst) {
    if (findings.size() == kNamedMax) break;
    findings.push_back({path, 0,
                        std::to_string(count) +
                            " of its comments begin with Of, Who, What, That, Where, It or the like, " +
                            "not with a verb or a name; " + std::to_string(all.without_noun) + " of all " +
                            std::to_string(all.comments) + " do, at most " + std::to_string(kWithoutNounPerMilleMax) +
                            " of 1000 may"});
  }
  return findings;
}

std::vector<std::string> files_that_name(const std::string& name, const std::vector<SourceFile>& files) {
  const auto forms = forms_of(name);
  std::set<std::string> found;
  for (const SourceFile& file : files) {
    if (std::ranges::any_of(forms, [&](const std::string& form) { return !find_word(file.text, form).empty(); })) {
      found.insert(file.path);
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace shoal::tidy
