// A page of slots. The replica's number is written last and erased first: a death in between leaves nothing.
#include "runtime/trace/work_note.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "runtime/base/file.h"

namespace shoal {

WorkNote::WorkNote() : own_(std::make_unique<Page>()), page_(own_.get()) {}

WorkNote::WorkNote(const std::string& path) : WorkNote() {
  left_behind_ = read_file_of(path);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return;
  const bool has_room = ::posix_fallocate(descriptor, 0, sizeof(Page)) == 0;
  void* const mapping =
      has_room ? ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) : MAP_FAILED;
  ::close(descriptor);
  if (mapping == MAP_FAILED) return;
  page_ = new (mapping) Page;
  own_.reset();
}

WorkNote::~WorkNote() {
  if (!own_) ::munmap(page_, sizeof(Page));
}

void WorkNote::begin(const NotedWork& work) {
  if (is_closed_.load()) return;
  Slot& slot = slot_of(work.replica);
  slot.replica.store(0);
  slot.run.store(work.run.value);
  slot.step.store(work.step.value);
  slot.stage.store(work.stage.value);
  slot.microbatch.store(work.microbatch.value);
  slot.replica.store(work.replica.value);
}

void WorkNote::end(Incarnation replica) {
  auto own = replica.value;
  slot_of(replica).replica.compare_exchange_strong(own, 0);
}

std::optional<NotedWork> WorkNote::take(Incarnation replica) {
  const auto work = read(slot_of(replica));
  if (!work || work->replica != replica) return std::nullopt;
  end(replica);
  return work;
}

bool WorkNote::has_work() const {
  return std::ranges::any_of(page_->slots, [](const Slot& slot) { return slot.replica.load() != 0; });
}

void WorkNote::close() {
  is_closed_.store(true);
  for (Slot& slot : page_->slots) slot.replica.store(0);
}

std::optional<NotedWork> WorkNote::read(const Slot& slot) {
  const std::uint64_t replica = slot.replica.load();
  if (replica == 0) return std::nullopt;
  return NotedWork{RunId{slot.run.load()}, StageId{slot.stage.load()}, Incarnation{replica}, StepId{slot.step.load()},
                   MicrobatchId{slot.microbatch.load()}};
}

std::vector<NotedWork> WorkNote::read_file_of(const std::string& path) {
  const auto text = read_file(path);
  if (!text || text->size() != sizeof(Page)) return {};
  const Page expected;
  Page page;
  std::memcpy(static_cast<void*>(&page), text->data(), sizeof page);
  std::vector<NotedWork> found;
  if (page.magic != expected.magic || page.version != expected.version) return found;
  for (const Slot& slot : page.slots) {
    if (const auto work = read(slot)) found.push_back(*work);
  }
  return found;
}

}  // namespace shoal
