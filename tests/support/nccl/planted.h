// Faults of the library of tests, planted from outside while it runs: a file in a folder that an environment variable
// names. Threads and processes see them alike, at each step of a sum.
//
//   init_fails  sum_fails   the next call's work ends in an error         sum_hangs   no chunk moves while it is there
//   chunk_ms                milliseconds that each chunk takes            abort_hangs ncclCommAbort does not come back
//   version                 what the library says that it is, instead of 22809
//   sums.log                written by the library: a line for each sum that it has begun and each communicator made
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace shoal::planted {

inline constexpr const char* kVariable = "TESTS_NCCL_FAULTS";

inline std::filesystem::path folder() {
  const char* const named = std::getenv(kVariable);
  return named == nullptr ? std::filesystem::temp_directory_path() : std::filesystem::path(named);
}

inline bool is_there(const std::string& fault) { return std::filesystem::exists(folder() / fault); }

inline long value_of(const std::string& fault) {
  std::ifstream file(folder() / fault);
  long value = 0;
  file >> value;
  return file ? value : 0;
}

inline void plant(const std::string& fault, long value = 0) { std::ofstream(folder() / fault) << value << '\n'; }
inline void remove(const std::string& fault) { std::filesystem::remove(folder() / fault); }

}  // namespace shoal::planted
