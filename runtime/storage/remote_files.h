// Logs and traces of nodes on other machines, in the run directory: RUN/logs/<name>.log, RUN/trace/<name>.trace.
//
// A piece is written where it belongs, so one that comes again changes nothing; none leaves a hole. Names that could
// mean another file are refused, and a file has an upper bound (S-6). Its sender knows the bound and stops there: a log
// with the last byte that fits, a trace before it, with the number of events that are not in it (trace_room.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "messages/storage.h"
#include "runtime/base/error.h"
#include "runtime/base/machine/disk_space.h"

namespace shoal {

class RemoteFiles {
 public:
  static constexpr std::uint64_t kFileBytesMax = std::uint64_t{1} << 30;

  // left: so many bytes stay free on the run directory's disk.
  explicit RemoteFiles(std::filesystem::path run_directory, std::uint64_t file_bytes_max = kFileBytesMax,
                       std::uint64_t left = kLeftByTraces)
      : run_directory_(std::move(run_directory)), file_bytes_max_(file_bytes_max), left_(left) {}

  // The file's size afterwards. A piece beyond its end is not written: the size says where to go on. Errors: kRefused
  // (name, kind of data, bound), kIo (also where the journal needs what the disk has left).
  [[nodiscard]] Result<std::uint64_t> keep(const FileChunk& chunk);
  // True for the piece that leaves no room in its file, which now has this size: its sender sends no more.
  [[nodiscard]] bool is_last(const FileChunk& chunk, std::uint64_t size) const {
    return chunk.bytes.has_value() && size == file_bytes_max_;
  }
  // True when this refusal is to be told: its sender tries again for ever, and it is said once per file, until
  // a piece of that file is written again. Where too many files were refused, all are forgotten (S-6).
  [[nodiscard]] bool is_news(const FileChunk& chunk, const Failure& refusal);

 private:
  using FileName = std::pair<FileKind, std::string>;

  std::filesystem::path run_directory_;
  std::uint64_t file_bytes_max_;
  std::uint64_t left_;
  std::map<FileName, std::string> refusals_;  // the last one that was told
};

}  // namespace shoal
