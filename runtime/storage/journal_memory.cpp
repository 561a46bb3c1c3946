// A journal that lasts as long as its object. It encodes what it keeps, so that the codec is on this path too.
#include "messages/codec.h"
#include "runtime/base/check.h"
#include "runtime/storage/journal.h"

namespace shoal {

namespace {

class MemoryJournal final : public JournalStore {
 public:
  explicit MemoryJournal(RunId run) : run_(run) {}

  [[nodiscard]] RunId run() const override { return run_; }
  [[nodiscard]] JournalPosition last_position() const override { return JournalPosition{entries_.size()}; }

  [[nodiscard]] Status append(const JournalEntry& entry) override {
    CHECK(entry.position.value == entries_.size() + 1, "the journal has no gaps");
    entries_.push_back(encode(entry));
    return Done{};
  }

  [[nodiscard]] Result<std::vector<JournalEntry>> load(JournalPosition after, std::size_t count_max) override {
    std::vector<JournalEntry> entries;
    std::size_t loaded = 0;
    for (std::size_t index = after.value; index < entries_.size() && entries.size() < count_max; ++index) {
      loaded += entries_[index].size();
      if (loaded > kLoadedBytesMax && !entries.empty()) break;
      auto decoded = decode_journal_entry(entries_[index]);
      if (!decoded.value) return fail(Error::kInvalidData, "journal entry: " + decoded.malformed);
      entries.push_back(std::move(*decoded.value));
    }
    return entries;
  }

  [[nodiscard]] Result<IncarnationBlock> reserve(IncarnationKind kind, std::uint64_t count) override {
    std::uint64_t& last = kind == IncarnationKind::kProcess ? last_process_ : last_actor_;
    const IncarnationBlock block{last + 1, count};
    last += count;
    return block;
  }

  [[nodiscard]] Result<Term> begin_term() override { return Term{++term_}; }

 private:
  RunId run_;
  std::vector<std::vector<char>> entries_;
  std::uint64_t last_process_ = 0;
  std::uint64_t last_actor_ = 0;
  std::uint64_t term_ = 0;
};

}  // namespace

std::unique_ptr<JournalStore> make_memory_journal(RunId run) { return std::make_unique<MemoryJournal>(run); }

}  // namespace shoal
