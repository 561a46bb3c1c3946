// A journal in memory that can be cut, and beside it all entries that were ever durable: what a test compares with.
// It counts what is read of it, because what must be bounded is counted, not timed.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/journal/store.h"

namespace shoal {

class WholeJournal final : public JournalStore {
 public:
  explicit WholeJournal(RunId run) : inner_(make_memory_journal(run)) {}

  [[nodiscard]] RunId run() const override { return inner_->run(); }
  [[nodiscard]] JournalPosition last_position() const override { return inner_->last_position(); }
  [[nodiscard]] JournalPosition begins_after() const override { return inner_->begins_after(); }
  [[nodiscard]] Status append(const JournalEntry& entry) override {
    all_.push_back(entry);
    return inner_->append(entry);
  }
  [[nodiscard]] Result<JournalSnapshot> snapshot() override { return inner_->snapshot(); }
  [[nodiscard]] Status cut(const JournalSnapshot& snapshot) override {
    ++cuts_;
    return inner_->cut(snapshot);
  }
  [[nodiscard]] Result<std::vector<JournalEntry>> load(JournalPosition after, std::size_t count_max) override {
    auto entries = inner_->load(after, count_max);
    if (entries) loaded_ += entries->size();
    return entries;
  }
  [[nodiscard]] Result<IncarnationBlock> reserve(IncarnationKind kind, std::uint64_t count) override {
    return inner_->reserve(kind, count);
  }
  [[nodiscard]] Result<Term> begin_term() override { return inner_->begin_term(); }
  [[nodiscard]] std::string kernels() const override { return inner_->kernels(); }
  [[nodiscard]] Status keep_kernels(const std::string& kernels) override { return inner_->keep_kernels(kernels); }

  // Returns all entries from the first one on, whatever is kept of them.
  [[nodiscard]] const std::vector<JournalEntry>& all() const { return all_; }
  [[nodiscard]] std::uint64_t cuts() const { return cuts_; }
  // Entries read since the last call.
  [[nodiscard]] std::uint64_t take_loaded() { return std::exchange(loaded_, 0); }

 private:
  std::unique_ptr<JournalStore> inner_;
  std::vector<JournalEntry> all_;
  std::uint64_t cuts_ = 0;
  std::uint64_t loaded_ = 0;
};

}  // namespace shoal
