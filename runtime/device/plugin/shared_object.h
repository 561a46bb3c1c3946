// Reads a shared library's headers before it is opened: whether the file is as long as they say, and which libraries it
// needs.
//
// The loader maps the parts that the headers name and never compares them with the file's length. What has been cut off
// then ends the process by SIGBUS, so a copy that ended early is found here. Pure: whoever reads the file gives its
// bytes.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/file.h"

namespace shoal {

struct SharedObject {
  std::vector<std::string> needed;   // libraries, by the names that the loader looks for
  std::vector<std::string> rpath;    // folders, as they stand there: with $ORIGIN
  std::vector<std::string> runpath;  // likewise; where there are any, rpath counts for nothing
};

// Errors: kInvalidData, the file is shorter than its headers say, or its headers are none of a 64-bit library ("it has
// 1000 of at least 3000 bytes"); kIo.
[[nodiscard]] Result<SharedObject> read_shared_object(const InputFile& file);

// Returns the folder with the library's own, `origin`, in place of $ORIGIN.
[[nodiscard]] std::string folder_from(const std::string& folder, const std::string& origin);

}  // namespace shoal
