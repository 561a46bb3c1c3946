// Reads the string vectors of an R lazy-load database (a package's data/Rdata.rdb).
//
//   rdb     = record*                      records follow each other without gaps
//   record  = u32 size, zlib stream        size = bytes after inflating; the stream knows its own end
//   inflated= "X\n" i32 version writer least [version 3: i32 n, n bytes: the native encoding] item
//   item    = i32 0x10 (a string vector without attributes), i32 count, string*
//   string  = i32 flags whose low byte is 9, i32 n (-1: NA), n bytes
//
// All numbers are big-endian. Anything else is refused: this is not a general reader of R's format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"

namespace shoal {

// One vector per record, in the file's order. Errors: kInvalidData with the record's number and what was wrong.
[[nodiscard]] Result<std::vector<std::vector<std::string>>> read_r_string_vectors(std::string_view rdb);

}  // namespace shoal
