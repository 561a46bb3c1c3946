// libFuzzer's end of a harness. One program has all of them:
//
//   fuzz --harness=NAME [libFuzzer's own flags and folders]      fuzz --harness=NAME --samples=FOLDER      fuzz --names
//
// The second form writes the harness's valid inputs into the folder, the third prints all names; both end then.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "tests/fuzz/harness.h"

namespace {

const shoal::fuzz::Harness* chosen = nullptr;

[[noreturn]] void print_names() {
  for (const auto* harness : shoal::fuzz::all_harnesses()) std::cout << harness->name << '\n';
  std::cout.flush();
  std::exit(0);
}

void write_samples(const std::string& folder) {
  int number = 0;
  for (const std::string& sample : chosen->samples()) {
    shoal::fuzz::write_bytes(folder + "/sample-" + std::to_string(number++), sample);
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  std::string samples;
  for (int i = 1; i < *count; ++i) {
    const std::string argument = (*arguments)[i];
    if (argument.starts_with("--harness=")) chosen = shoal::fuzz::find_harness(argument.substr(10));
    if (argument.starts_with("--samples=")) samples = argument.substr(10);
    if (argument == "--names") print_names();
  }
  if (chosen == nullptr) {
    std::cerr << "usage: fuzz --harness=NAME ...; `fuzz --names` prints the names\n";
    std::exit(2);
  }
  if (samples.empty()) return 0;
  write_samples(samples);
  std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)chosen->accepts(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
