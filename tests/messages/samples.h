// One filled example of every message, with no field at its default: what a codec forgets, equality then shows.
// A message without a sample here fails the round-trip test.
#pragma once

#include <random>
#include <vector>

#include "messages/letter.h"

namespace shoal::samples {

// A tensor of random bytes.
[[nodiscard]] TensorBlob tensor(std::mt19937_64& random, DType dtype, std::vector<std::int64_t> shape);

// Every alternative of MessageBody at least once, with random contents.
[[nodiscard]] std::vector<MessageBody> every_body(std::mt19937_64& random);

// Makes a snapshot in place of a journal's oldest entries, with every list filled.
[[nodiscard]] JournalSnapshot snapshot(std::mt19937_64& random);

// Every kind of journal entry.
[[nodiscard]] std::vector<JournalEntry> every_entry(std::mt19937_64& random);

}  // namespace shoal::samples
