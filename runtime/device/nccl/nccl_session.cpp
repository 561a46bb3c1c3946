// Each call's answer is success, "in progress", or the sum's end.
#include "runtime/device/nccl/nccl_session.h"

#include <cstring>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"

namespace shoal {
namespace {

[[nodiscard]] bool has_failed(int answer) { return answer != kNcclSuccess && answer != kNcclInProgress; }

}  // namespace

NcclSession::NcclSession(std::shared_ptr<const NcclLibrary> library, std::unique_ptr<CollectiveMemory> memory,
                         std::shared_ptr<GivenUpJoins> joins)
    : library_(std::move(library)), memory_(std::move(memory)), joins_(std::move(joins)) {}

NcclSession::~NcclSession() { abort(); }

void NcclSession::abort() {
  if (comm_ != nullptr) static_cast<void>(library_->call.comm_abort(std::exchange(comm_, nullptr)));
  memory_->give_up();
  phase_ = Phase::kIdle;
  sum_ = {};
}

std::string NcclSession::failure(const std::string& call, int error) const {
  return nccl_failure(*library_, call, error, comm_);
}

void NcclSession::fail_sum(std::string reason, News& news, bool is_for_good) {
  const OrderId order = sum_.order;
  abort();
  news.push_back(CollectiveFailed{order, std::move(reason), is_for_good});
}

std::vector<CollectiveNews> NcclSession::take(const CollectiveOrder& order) {
  News news;
  if (is_busy() || std::holds_alternative<CollectiveDrop>(order)) abort();
  if (const auto* sum = std::get_if<CollectiveSum>(&order)) begin(*sum, news);
  return news;
}

int NcclSession::state() const {
  int error = kNcclSuccess;
  const int answer = library_->call.comm_get_async_error(comm_, &error);
  return answer == kNcclSuccess ? error : answer;
}

// Counts before anything is begun: one that never comes together leaves threads and files behind, as its id does.
void NcclSession::make(const CollectiveSum& sum, News& news) {
  abort();
  sum_ = sum;
  if (!joins_->begin()) {
    return fail_sum(compose(kGivenUpJoinsMax,
                            " communicators of this process never came together, and each left a "
                            "thread and files behind: it makes no other, and its sums go over the ring"),
                    news, true);
  }
  NcclId id{};
  if (sum.id.empty()) {
    const int answer = library_->call.get_unique_id(&id);
    if (answer != kNcclSuccess) return fail_sum(failure("ncclGetUniqueId", answer), news);
    news.push_back(CollectiveIdMade{sum.order, std::string(id.bytes.data(), id.bytes.size())});
  } else {
    ENSURE(sum.id.size() == id.bytes.size(), "an id of the library's size");
    std::memcpy(id.bytes.data(), sum.id.data(), id.bytes.size());
  }
  join(id, news);
}

void NcclSession::begin(const CollectiveSum& sum, News& news) {
  if (sum.makes_communicator()) return make(sum, news);
  sum_ = sum;
  if (comm_ == nullptr || name_ != sum.communicator) return fail_sum("this member has no such communicator", news);
  if (const int broken = state(); broken != kNcclSuccess) return fail_sum(failure("the communicator", broken), news);
  start(news);
}

void NcclSession::join(const NcclId& id, News& news) {
  NcclConfig config;
  name_ = sum_.communicator;
  const int answer = library_->call.comm_init_rank_config(&comm_, static_cast<int>(sum_.size), id,
                                                          static_cast<int>(sum_.rank), &config);
  if (has_failed(answer)) return fail_sum(failure("ncclCommInitRankConfig", answer), news);
  phase_ = Phase::kJoining;
}

void NcclSession::start(News& news) {
  const auto placed = memory_->place(sum_.contribution);
  if (!placed) return fail_sum(placed.failure().message, news);
  const int type = sum_.contribution.dtype == DType::kInt64 ? kNcclInt64 : kNcclFloat32;
  const int answer =
      library_->call.all_reduce(placed->from, placed->to, placed->count, type, kNcclSum, comm_, placed->stream);
  if (has_failed(answer)) return fail_sum(failure("ncclAllReduce", answer), news);
  phase_ = Phase::kStarting;
}

void NcclSession::queued(News& news) {
  if (const auto marked = memory_->queued(); !marked) return fail_sum(marked.failure().message, news);
  phase_ = Phase::kSumming;
}

void NcclSession::look_at_device(News& news) {
  const auto done = memory_->is_done();
  if (!done) return fail_sum(done.failure().message, news);
  if (!*done) return;
  // A stream is also at its end when its work was given up, and the communicator says so first.
  if (const int broken = state(); broken != kNcclSuccess) return fail_sum(failure("ncclAllReduce", broken), news);
  news.push_back(CollectiveSummed{sum_.order, memory_->take_sum()});
  phase_ = Phase::kIdle;
  sum_ = {};
}

std::vector<CollectiveNews> NcclSession::poll() {
  News news;
  if (!is_busy()) return news;
  const int now = state();
  if (has_failed(now)) {
    fail_sum(failure("NCCL", now), news);
  } else if (now == kNcclSuccess) {
    switch (phase_) {
      case Phase::kIdle: break;
      case Phase::kJoining:
        joins_->came_together();
        start(news);
        break;
      case Phase::kStarting: queued(news); break;
      case Phase::kSumming: look_at_device(news); break;
    }
  }
  return news;
}

}  // namespace shoal
