// One reading per kind of letter.
#include "runtime/pipeline/state_on_its_way.h"

#include "runtime/base/bound.h"
#include "runtime/storage/image/image_bytes.h"

#include <algorithm>
#include <utility>

namespace shoal {

namespace {

const Bound kReplicasMax{"pipeline.replicas_of_a_process", 64};  // for one process, dead ones included

struct Reader {
  const Letter& letter;
  std::uint64_t received;
  Duration took;

  // Counts what came before this piece, too.
  [[nodiscard]] std::uint64_t come(const TensorBlob& piece, std::uint64_t offset) const {
    return offset + std::min<std::uint64_t>(received, piece.byte_count());
  }
  [[nodiscard]] Letter of_copy(StateProgress progress) const {
    progress.stage = letter.to.stage;
    progress.on_its_way_ms = milliseconds(took);
    return {letter.from, letter.to, progress};
  }
  std::optional<Letter> operator()(const StateImage& image) const {
    return of_copy(
        {{}, image.step, {}, image.replica, image.donor, false, come(image.image, image.offset), image_bytes(image)});
  }
  std::optional<Letter> operator()(const StepSum& sum) const {
    return of_copy(
        {sum.branch, sum.step.value, {}, sum.replica, sum.donor, false, come(sum.values, 0), sum.values.byte_count()});
  }
  std::optional<Letter> operator()(const SaveShard& shard) const {
    StateProgress progress{shard.branch, shard.step, shard.stage, shard.replica, {}, true, 0, 0};
    const std::uint64_t total = image_bytes(shard);
    progress.bytes = come(shard.image, shard.offset);
    // The last piece has come in vain where one before it was lost: only storage can say that it has all of them.
    if (shard.offset > 0) progress.bytes = std::min(progress.bytes, total - 1);
    progress.bytes_total = 2 * total;  // the shard is to be written, too
    return Letter{{}, to_supervisor(), progress};
  }
  std::optional<Letter> operator()(const Part& part) const {
    return Letter{letter.from, letter.to, Progress{part.order, part.member, 0, received}};
  }
  std::optional<Letter> operator()(const Forward& forward) const {
    const Cause& cause = forward.cause;
    if (cause.hop >= forward.path.size()) return std::nullopt;
    const Address asker = cause.hop == 0 ? to_data_loader() : to_stage(letter.from, forward.sender);
    return Letter{{}, asker, AskAnswer{cause, forward.path[cause.hop], forward.purpose, AskState::kWorking}};
  }
  std::optional<Letter> operator()(const Backward& answer) const {
    return Letter{letter.from, letter.to, AskAnswer{answer.cause, answer.sender, answer.purpose, AskState::kWorking}};
  }
  template <class Other>
  std::optional<Letter> operator()(const Other&) const {
    return std::nullopt;
  }
};

// Incarnations grow: who makes room is the oldest.
template <class Value>
void put(std::map<Incarnation, Value>& sent, Incarnation replica, Value value) {
  if (!sent.contains(replica) && kReplicasMax.is_reached_by(sent.size())) sent.erase(sent.begin());
  sent[replica] = value;
}

}  // namespace

std::optional<Letter> progress_of(const Letter& arriving, std::uint64_t received, Duration took) {
  return std::visit(Reader{arriving, received, took}, arriving.body);
}

// A further piece was asked for, so that its first one is at storage, which asks again for what does not come.
void StateSent::add(const SaveShard& shard) {
  if (shard.offset == 0) return put(shards_, shard.replica, shard.step);
  const auto first = shards_.find(shard.replica);
  if (first != shards_.end() && first->second == shard.step) shards_.erase(first);
}

void StateSent::add(const Letter& letter) {
  if (const auto* shard = std::get_if<SaveShard>(&letter.body)) {
    add(*shard);
  } else if (const auto* sum = std::get_if<StepSum>(&letter.body)) {
    put(sums_, sum->replica, Sum{sum->donor, sum->step.value});
  }
}

std::vector<Letter> StateSent::lost() const {
  std::vector<Letter> letters;
  for (const auto& [replica, step] : shards_) {
    letters.push_back(
        {{}, to_supervisor(), StateUnavailable{replica, step, "the link that its shard was sent over broke", replica}});
  }
  for (const auto& [replica, sum] : sums_) {
    letters.push_back({{},
                       to_stage({}, sum.donor),
                       StateUnavailable{replica, sum.step, "the link that its sum was sent over broke", sum.donor}});
  }
  return letters;
}

}  // namespace shoal
