// link-emulator: runs a program, and everything it starts, in an emulated network (emulator.h).
//
//   link-emulator [--seed N] [--say COMMAND]... -- PROGRAM [ARGUMENT]...
//
// Commands are those of link_rules.h; more are read from stdin, a line each, while the program runs; `wait MS` among
// them waits. Exit status: the program's. Example: --say 'shape * <-> * delay_ms=20 jitter_ms=5' -- shoal train
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "tests/emulator/emulator.h"

namespace {

constexpr int kUsage = 2;

struct Words {
  std::uint64_t seed = 1;
  std::vector<std::string> commands;
  char** program = nullptr;
};

int refuse(const std::string& what) {
  std::cerr << "link-emulator: " << what
            << "\nusage: link-emulator [--seed N] [--say COMMAND]... -- PROGRAM [ARGUMENT]...\n";
  return kUsage;
}

bool read_words(char** arguments, Words& words) {
  for (char** word = arguments + 1; *word != nullptr; ++word) {
    if (std::strcmp(*word, "--") == 0) {
      words.program = word + 1;
      return *words.program != nullptr;
    }
    if (word[1] == nullptr) return false;
    if (std::strcmp(*word, "--seed") == 0) {
      words.seed = std::strtoull(*++word, nullptr, 10);
    } else if (std::strcmp(*word, "--say") == 0) {
      words.commands.emplace_back(*++word);
    } else {
      return false;
    }
  }
  return false;
}

void obey_stdin(shoal::LinkEmulator& network) {
  for (std::string line; std::getline(std::cin, line);) {
    if (line.starts_with("wait ")) {
      ::poll(nullptr, 0, std::atoi(line.c_str() + 5));
    } else if (const auto done = network.command(line); !done) {
      std::cerr << "link-emulator: " << done.failure().message << "\n";
    }
  }
}

int run(char** program, const shoal::LinkEmulator& network) {
  for (const auto& [name, value] : network.environment()) ::setenv(name.c_str(), value.c_str(), 1);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execvp(program[0], program);
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

int main(int /*count*/, char** arguments) {
  Words words;
  if (!read_words(arguments, words)) return refuse("expected a program after --");
  shoal::LinkEmulator network(words.seed);
  for (const std::string& command : words.commands) {
    if (const auto done = network.command(command); !done) return refuse(done.failure().message);
  }
  std::thread([&network] { obey_stdin(network); }).detach();
  const int status = run(words.program, network);
  std::cerr.flush();
  ::_exit(status);  // the reader of stdin may wait for a line for ever
}
