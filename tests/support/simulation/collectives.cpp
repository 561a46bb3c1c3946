// Sums are made when the last member has come, and told to each at a time of its own.
#include "tests/support/simulation/collectives.h"

#include <cstring>
#include <functional>
#include <utility>

#include "runtime/base/ensure.h"

namespace shoal {

namespace {

constexpr std::uint64_t kNoLibraryOneIn = 12;
constexpr std::uint64_t kFailsOneIn = 40;   // by itself
constexpr std::uint64_t kSilentOneIn = 60;  // nobody hears of it

[[nodiscard]] TensorBlob add_up(const std::map<std::uint32_t, CollectiveSum>& sums) {
  const TensorBlob& first = sums.begin()->second.contribution;
  ENSURE(first.dtype == DType::kInt64, "the simulation sums integers");
  auto bytes = std::make_shared<AlignedBuffer>(first.byte_count());
  auto* const total = reinterpret_cast<std::uint64_t*>(bytes->data());
  std::memset(total, 0, first.byte_count());
  for (const auto& [rank, sum] : sums) {
    ENSURE(sum.contribution.byte_count() == first.byte_count(), "members contribute the same number of values");
    for (std::int64_t at = 0; at < first.element_count(); ++at) total[at] += sum.contribution.as<std::uint64_t>()[at];
  }
  return {first.dtype, first.shape, std::move(bytes)};
}

}  // namespace

class SimulatedCommunicator {
 public:
  using Told = std::function<void(CollectiveNews)>;

  SimulatedCommunicator(SimulatedCollectives& all, std::uint32_t size) : all_(&all), size_(size) {}

  [[nodiscard]] bool is_broken() const { return is_broken_; }
  void begin(const CollectiveSum& sum, Told told) {
    ENSURE(sum.size == size_ && sum.rank < size_, "a communicator is used by its own members");
    ENSURE(sums_.empty() || sums_.begin()->second.order == sum.order, "its members are at one sum");
    ENSURE(!sums_.contains(sum.rank), "a rank is one member's");
    sums_[sum.rank] = sum;
    told_[sum.rank] = std::move(told);
    if (is_broken_) return fail("a member has left");
    if (sums_.size() == size_) end();
  }
  // A member gives it up, whatever is under way.
  void leave() {
    if (!sums_.empty() && !is_broken_) ++all_->counts().broken;
    fail("a member has left");
  }

 private:
  void end() {
    const auto sums = std::exchange(sums_, {});
    const auto told = std::exchange(told_, {});
    if (all_->time().draw(kSilentOneIn) == 0) {
      ++all_->counts().silent;
      is_broken_ = true;
      return;
    }
    const bool fails = all_->time().draw(kFailsOneIn) == 0;
    const TensorBlob total = add_up(sums);
    for (const auto& [rank, sum] : sums) {
      if (fails) tell(told.at(rank), CollectiveFailed{sum.order, "an error of the network"});
      if (!fails) tell(told.at(rank), CollectiveSummed{sum.order, total});
    }
    if (!fails) all_->counts().sums += size_;
    is_broken_ = is_broken_ || fails;
  }
  void fail(const std::string& why) {
    is_broken_ = true;
    for (const auto& [rank, sum] : std::exchange(sums_, {})) tell(told_.at(rank), CollectiveFailed{sum.order, why});
    told_.clear();
  }
  void tell(const Told& told, CollectiveNews news) {
    all_->time().later([told, news = std::move(news)] { told(news); });
  }

  SimulatedCollectives* all_;
  std::uint32_t size_;
  bool is_broken_ = false;
  std::map<std::uint32_t, CollectiveSum> sums_;  // by rank: of those who have come
  std::map<std::uint32_t, Told> told_;
};

namespace {

// One member's, with the communicator that it holds.
class Member final : public CollectiveRunner {
 public:
  Member(SimulatedCollectives& all, TellCollective tell)
      : all_(&all), tell_(std::make_shared<TellCollective>(std::move(tell))) {}
  ~Member() override { give_up(); }

  void hand_in(CollectiveOrder order) override {
    tell_ = std::make_shared<TellCollective>(*tell_);  // nothing more is heard of what was under way
    const auto* sum = std::get_if<CollectiveSum>(&order);
    if (sum == nullptr) return give_up();
    if (sum->makes_communicator()) make(*sum);
    const bool holds_it = communicator_ && name_ == sum->communicator && !communicator_->is_broken();
    if (!holds_it) return say(CollectiveFailed{sum->order, "this member has no such communicator"});
    communicator_->begin(*sum, heard());
  }

 private:
  void give_up() {
    if (communicator_) std::exchange(communicator_, nullptr)->leave();
  }
  void make(const CollectiveSum& sum) {
    give_up();
    const std::string id = sum.id.empty() ? all_->make(sum.size) : sum.id;
    if (sum.id.empty()) say(CollectiveIdMade{sum.order, id});
    communicator_ = all_->find(id);
    name_ = sum.communicator;
  }
  // Of this member as it is now: neither after another order, nor after its death.
  [[nodiscard]] SimulatedCommunicator::Told heard() const {
    return [weak = std::weak_ptr(tell_)](CollectiveNews news) {
      if (const auto tell = weak.lock()) (*tell)(std::move(news));
    };
  }
  void say(CollectiveNews news) {
    all_->time().later([told = heard(), news = std::move(news)] { told(news); });
  }

  SimulatedCollectives* all_;
  std::shared_ptr<TellCollective> tell_;
  std::shared_ptr<SimulatedCommunicator> communicator_;
  Epoch name_;
};

}  // namespace

void SimulatedCollectives::wire(StageSettings& settings, const std::string& process) {
  if (time_.draw(kNoLibraryOneIn) == 0) return;
  settings.collective = CollectiveOffer{"simulated", process, {}, 0};
  settings.make_collective = [this](TellCollective tell) { return std::make_unique<Member>(*this, std::move(tell)); };
}

std::string SimulatedCollectives::make(std::uint32_t size) {
  std::string id = std::to_string(++counts_.communicators);
  id.resize(kCollectiveIdBytes, ' ');
  communicators_[id] = std::make_shared<SimulatedCommunicator>(*this, size);
  return id;
}

std::shared_ptr<SimulatedCommunicator> SimulatedCollectives::find(const std::string& id) const {
  const auto found = communicators_.find(id);
  return found == communicators_.end() ? nullptr : found->second;
}

}  // namespace shoal
