// A fuzzer is one parser of bytes that come from outside, valid inputs of it, and what must hold for any
// input. The same harness is run by libFuzzer under sanitizers (fuzzer.cpp) and by an ordinary test (fuzz_test.cpp).
//
// An input may be anything; a promise that is broken throws Bug (ENSURE), which nobody here catches. Where a format has
// a checksum, the harness recomputes it if the input asks for that: else no change would get past it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::fuzz {

struct Harness {
  std::string_view name;
  // Valid inputs, made by the code that writes the format; the same at every call.
  std::vector<std::string> (*samples)();
  // Gives the input to the parser. Whether it was accepted.
  bool (*accepts)(std::string_view input);
};

extern const Harness kCheckpoint;
extern const Harness kConfig;
extern const Harness kEnrolment;
extern const Harness kFrameGuard;
extern const Harness kHttp;
extern const Harness kJournal;
extern const Harness kLanes;
extern const Harness kLetters;
extern const Harness kSafetensors;
extern const Harness kToken;

[[nodiscard]] const std::vector<const Harness*>& all_harnesses();
// nullptr: none has that name.
[[nodiscard]] const Harness* find_harness(std::string_view name);

// Takes an input apart from its front. What is missing reads as zeros.
class Cursor {
 public:
  explicit Cursor(std::string_view input) : rest_(input) {}

  [[nodiscard]] std::uint8_t byte() { return static_cast<std::uint8_t>(number(1)); }
  // Big-endian.
  [[nodiscard]] std::uint64_t number(std::size_t width);
  // Returns at most so many.
  [[nodiscard]] std::string_view bytes(std::size_t count);
  [[nodiscard]] std::string_view rest() { return bytes(rest_.size()); }
  [[nodiscard]] bool is_empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// The inverse of Cursor::number().
void append_number(std::string& to, std::uint64_t value, std::size_t width);

// A folder of this process in memory (/dev/shm) where there is one: harnesses write files thousands of times.
[[nodiscard]] const std::string& scratch_path();
void write_bytes(const std::string& path, std::string_view bytes);

}  // namespace shoal::fuzz
