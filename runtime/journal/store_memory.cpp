// A journal that lasts as long as its object. It encodes what it keeps, so that the codec is on this path too.
#include "messages/codec.h"
#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/journal/store.h"

namespace shoal {

namespace {

class MemoryJournal final : public JournalStore {
 public:
  explicit MemoryJournal(RunId run) : run_(run) {}

  [[nodiscard]] RunId run() const override { return run_; }
  [[nodiscard]] JournalPosition last_position() const override {
    return JournalPosition{begins_after_.value + entries_.size()};
  }
  [[nodiscard]] JournalPosition begins_after() const override { return begins_after_; }

  [[nodiscard]] Status append(const JournalEntry& entry) override {
    ENSURE(entry.position.value == last_position().value + 1, "the journal has no gaps");
    entries_.push_back(encode(entry));
    return Done{};
  }

  [[nodiscard]] Result<JournalSnapshot> snapshot() override {
    ENSURE(begins_after_ > JournalPosition{}, "a journal that was cut has a snapshot");
    auto decoded = decode_journal_snapshot(snapshot_);
    if (!decoded.value) return fail(Error::kInvalidData, "journal snapshot: " + decoded.malformed);
    return std::move(*decoded.value);
  }

  [[nodiscard]] Status cut(const JournalSnapshot& snapshot) override {
    const JournalPosition position = snapshot.view.position;
    ENSURE(position > begins_after_ && position <= last_position(), "a snapshot takes the place of entries");
    auto bytes = bytes_to_keep(snapshot);
    if (!bytes) return bytes.failure();
    snapshot_ = std::move(*bytes);
    entries_.erase(entries_.begin(),
                   entries_.begin() + static_cast<std::ptrdiff_t>(position.value - begins_after_.value));
    begins_after_ = position;
    return Done{};
  }

  [[nodiscard]] Result<std::vector<JournalEntry>> load(JournalPosition after, std::size_t count_max) override {
    ENSURE(after >= begins_after_, "what is before a snapshot is read as one");
    std::vector<JournalEntry> entries;
    std::size_t loaded = 0;
    for (std::size_t index = after.value - begins_after_.value; index < entries_.size() && entries.size() < count_max;
         ++index) {
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
  [[nodiscard]] std::string kernels() const override { return kernels_; }
  [[nodiscard]] Status keep_kernels(const std::string& kernels) override {
    kernels_ = kernels;
    return Done{};
  }

 private:
  RunId run_;
  JournalPosition begins_after_;
  std::vector<char> snapshot_;
  std::vector<std::vector<char>> entries_;  // from there on
  std::uint64_t last_process_ = 0;
  std::uint64_t last_actor_ = 0;
  std::uint64_t term_ = 0;
  std::string kernels_;
};

}  // namespace

Result<std::vector<char>> bytes_to_keep(const JournalSnapshot& snapshot) {
  std::vector<char> bytes = encode(snapshot);
  const std::string what = compose("the journal's snapshot at entry ", snapshot.view.position);
  if (bytes.size() > JournalStore::kSnapshotBytesMax) {
    return fail(Error::kUsage, compose(what, " has ", bytes.size(), " bytes, more than a letter has room for"));
  }
  const auto again = decode_journal_snapshot(bytes);
  if (!again.value) return fail(Error::kUsage, compose(what, " could not be read again: ", again.malformed));
  return bytes;
}

Result<Branch> newest_branch(JournalStore& journal) {
  const JournalPosition last = journal.last_position();
  if (last == JournalPosition{}) return Branch{};
  if (last == journal.begins_after()) {
    const auto snapshot = journal.snapshot();
    if (!snapshot) return snapshot.failure();
    return snapshot->highest_branch;
  }
  const auto entries = journal.load(JournalPosition{last.value - 1}, 1);
  if (!entries) return entries.failure();
  return entries->back().branch;
}

std::unique_ptr<JournalStore> make_memory_journal(RunId run) { return std::make_unique<MemoryJournal>(run); }

}  // namespace shoal
