// A journal whose process dies at a write of the test's choice: before it is durable, or after.
//
// From that write on nothing is kept any more: later writes of the dying process never happened. The test ends
// the process and opens the journal underneath again.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/journal/store.h"

namespace shoal {

enum class WriteFate { kLost, kDurable };

struct CrashPlan {
  std::uint64_t writes_left = 0;  // until the one it dies at; 0: none
  WriteFate fate = WriteFate::kLost;
  bool is_dead = false;
};

class CrashingJournal final : public JournalStore {
 public:
  CrashingJournal(std::shared_ptr<JournalStore> inner, std::shared_ptr<CrashPlan> plan)
      : inner_(std::move(inner)), plan_(std::move(plan)) {}

  [[nodiscard]] RunId run() const override { return inner_->run(); }
  [[nodiscard]] JournalPosition last_position() const override {
    return imagined_.empty() ? inner_->last_position() : imagined_.back().position;
  }
  [[nodiscard]] Status append(const JournalEntry& entry) override {
    if (is_written()) return inner_->append(entry);
    imagined_.push_back(entry);
    return Done{};
  }
  [[nodiscard]] JournalPosition begins_after() const override { return inner_->begins_after(); }
  [[nodiscard]] Result<JournalSnapshot> snapshot() override { return inner_->snapshot(); }
  [[nodiscard]] Status cut(const JournalSnapshot& snapshot) override {
    return is_written() ? inner_->cut(snapshot) : Status(Done{});
  }
  [[nodiscard]] Result<std::vector<JournalEntry>> load(JournalPosition after, std::size_t count_max) override {
    auto entries = inner_->load(after, count_max);
    for (const JournalEntry& entry : imagined_) {
      if (entries && entry.position > after && entries->size() < count_max) entries->push_back(entry);
    }
    return entries;
  }
  [[nodiscard]] Result<IncarnationBlock> reserve(IncarnationKind kind, std::uint64_t count) override {
    if (is_written()) return inner_->reserve(kind, count);
    return IncarnationBlock{std::uint64_t{1} << 40U, count};  // nobody will hear of them
  }
  [[nodiscard]] Result<Term> begin_term() override { return inner_->begin_term(); }
  [[nodiscard]] std::string kernels() const override { return inner_->kernels(); }
  // Not one of the writes that it dies at: a death here is one at the write of the entry that follows.
  [[nodiscard]] Status keep_kernels(const std::string& kernels) override {
    return plan_->is_dead ? Status(Done{}) : inner_->keep_kernels(kernels);
  }

 private:
  [[nodiscard]] bool is_written() {
    if (plan_->is_dead) return false;
    if (plan_->writes_left == 0 || --plan_->writes_left > 0) return true;
    plan_->is_dead = true;
    return plan_->fate == WriteFate::kDurable;
  }

  std::shared_ptr<JournalStore> inner_;
  std::shared_ptr<CrashPlan> plan_;
  std::vector<JournalEntry> imagined_;  // entries that the dying process believes it has written
};

}  // namespace shoal
