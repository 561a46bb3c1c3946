// The list of harnesses, and what they share.
#include "tests/fuzz/harness.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "runtime/base/machine/scratch_folder.h"

namespace shoal::fuzz {

const std::vector<const Harness*>& all_harnesses() {
  static const std::vector<const Harness*> kAll = {&kCheckpoint, &kConfig, &kEnrolment, &kFrameGuard,  &kHttp,
                                                   &kJournal,    &kLanes,  &kLetters,   &kSafetensors, &kToken};
  return kAll;
}

const Harness* find_harness(std::string_view name) {
  const auto found = std::ranges::find_if(all_harnesses(), [&](const Harness* one) { return one->name == name; });
  return found == all_harnesses().end() ? nullptr : *found;
}

std::uint64_t Cursor::number(std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) {
    value = value << 8U | (rest_.empty() ? 0U : static_cast<std::uint8_t>(rest_.front()));
    if (!rest_.empty()) rest_.remove_prefix(1);
  }
  return value;
}

std::string_view Cursor::bytes(std::size_t count) {
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(taken.size());
  return taken;
}

void append_number(std::string& to, std::uint64_t value, std::size_t width) {
  for (std::size_t i = width; i > 0; --i) to.push_back(static_cast<char>(value >> (8 * (i - 1)) & 0xFFU));
}

const std::string& scratch_path() {
  static const ScratchFolder kFolder = [] {
    const std::filesystem::path memory = "/dev/shm";
    std::error_code ignored;
    auto parent = std::filesystem::is_directory(memory, ignored) ? Result(memory) : temporary_folder();
    return std::move(ScratchFolder::make(parent.value(), "shoal-fuzz-").value());
  }();
  static const std::string kPath = kFolder.path().string();
  return kPath;
}

void write_bytes(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  ENSURE(file.flush().good(), "cannot write " + path);
}

}  // namespace shoal::fuzz
