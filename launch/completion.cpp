// bash and zsh share a function; fish takes one line per word.
#include "launch/completion.h"

#include <map>
#include <set>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::vector<std::string> option_names(const CommandSpec& command) {
  std::vector<std::string> names;
  for (const OptionSpec& option : command.options) {
    names.push_back(option.name);
  }
  names.emplace_back("--help");
  return names;
}

std::string first_word(const std::string& name) { return name.substr(0, name.find(' ')); }

// "trace": export, why, ...; of commands of one word, nothing.
std::map<std::string, std::vector<std::string>> groups_of(const std::vector<CommandSpec>& commands) {
  std::map<std::string, std::vector<std::string>> groups;
  for (const CommandSpec& command : commands) {
    const auto space = command.name.find(' ');
    if (space != std::string::npos) groups[first_word(command.name)].push_back(command.name.substr(space + 1));
  }
  return groups;
}

std::vector<std::string> first_words(const std::vector<CommandSpec>& commands) {
  std::vector<std::string> words;
  for (const CommandSpec& command : commands) {
    if (words.empty() || words.back() != first_word(command.name)) words.push_back(first_word(command.name));
  }
  return words;
}

// The shell completes names of files wherever this offers nothing.
std::string bash_function(const CompletedWords& words) {
  std::vector<std::string> keys;
  for (const std::string& key : words.keys) keys.push_back(key + "=");
  std::string text = compose(
      "_shoal() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} words=\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    words=\"",
      joined(first_words(words.commands)), "\"\n  elif [ \"$previous\" = --set ]; then\n    words=\"", joined(keys),
      "\"\n    compopt -o nospace 2>/dev/null\n  else\n    case $command in\n");
  for (const auto& [group, names] : groups_of(words.commands)) {
    text += compose("      ", group, ")\n        if [ \"$COMP_CWORD\" -eq 2 ]; then words=\"", joined(names),
                    "\"; else command=\"$command ${COMP_WORDS[2]}\"; fi ;;\n");
  }
  text += "    esac\n  fi\n  case $current in -*)\n    case $command in\n";
  for (const CommandSpec& command : words.commands) {
    text += compose("      '", command.name, "') words=\"", joined(option_names(command)), "\" ;;\n");
  }
  return text +
         "    esac ;;\n  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\n"
         "complete -o bashdefault -o default -F _shoal shoal\n";
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char character : text) {
    if (character == '\'' || character == '\\') out += '\\';
    out += character;
  }
  return out + "'";
}

std::string fish_lines(const CompletedWords& words) {
  std::string text;
  const auto groups = groups_of(words.commands);
  std::set<std::string> told;
  for (const CommandSpec& command : words.commands) {
    const std::string first = first_word(command.name);
    const bool is_grouped = groups.contains(first);
    if (told.insert(first).second) {
      text += compose("complete -c shoal -n __fish_use_subcommand -f -a ", first, " -d ",
                      quoted(is_grouped ? joined(groups.at(first)) : command.summary), "\n");
    }
    std::string seen = "__fish_seen_subcommand_from " + first;
    if (is_grouped) {
      const std::string second = command.name.substr(first.size() + 1);
      text += compose("complete -c shoal -n '", seen, "; and not __fish_seen_subcommand_from ",
                      joined(groups.at(first)), "' -f -a ", second, " -d ", quoted(command.summary), "\n");
      seen += "; and __fish_seen_subcommand_from " + second;
    }
    for (const OptionSpec& option : command.options) {
      const std::string values = option.name == "--set" ? " -x -a '" + joined(words.keys) + "'" : " -r";
      text += compose("complete -c shoal -n '", seen, "' -l ", option.name.substr(2),
                      option.kind == OptionKind::kFlag ? "" : values, " -d ", quoted(option.meaning), "\n");
    }
  }
  return text;
}

}  // namespace

Result<std::string> completion_script(std::string_view shell, const CompletedWords& words) {
  if (shell == "bash") return bash_function(words);
  if (shell == "zsh") return "#compdef shoal\nautoload -U +X bashcompinit && bashcompinit\n" + bash_function(words);
  if (shell == "fish") return fish_lines(words);
  return fail(Error::kUsage, compose("completion for '", shell, "': bash, zsh and fish are known"));
}

}  // namespace shoal
