// Segments with the time each is due.
#include "tests/emulator/faulty_pipe.h"

#include <algorithm>

namespace shoal {
namespace {

constexpr std::size_t kSegmentBytes = 8192;
constexpr double kMebibyte = 1 << 20;
constexpr unsigned kBitsPerByte = 8;

}  // namespace

FaultyPipe::FaultyPipe(std::uint64_t seed, std::size_t bytes_max) : random_(seed), bytes_max_(bytes_max) {}

std::size_t FaultyPipe::room(const LinkFaults& faults) const {
  if (faults.is_stalled || end_ != StreamEnd::kNotYet) return 0;
  return bytes_ < bytes_max_ ? bytes_max_ - bytes_ : 0;
}

Instant FaultyPipe::arrival(std::size_t size, const LinkFaults& faults, Instant now) {
  line_free_at_ = std::max(line_free_at_, now);
  if (faults.bytes_per_second > 0) {
    const std::chrono::duration<double> takes(static_cast<double>(size) / faults.bytes_per_second);
    line_free_at_ += std::chrono::duration_cast<Duration>(takes);
  }
  const double shift = std::uniform_real_distribution<double>(-1.0, 1.0)(random_);
  const Duration late = faults.delay + std::chrono::duration_cast<Duration>(faults.jitter * shift);
  last_due_ = std::max(last_due_, line_free_at_ + std::max(late, Duration::zero()));
  return last_due_;
}

std::uint64_t FaultyPipe::draw(double per_mib, std::size_t size) {
  if (per_mib <= 0) return 0;
  return std::poisson_distribution<std::uint64_t>(per_mib * static_cast<double>(size) / kMebibyte)(random_);
}

void FaultyPipe::corrupt(std::string& bytes, const LinkFaults& faults) {
  const std::uint64_t flips = draw(faults.corrupt_per_mib, bytes.size()) + corruptions_owed_;
  corruptions_owed_ = 0;
  for (std::uint64_t flip = 0; flip < flips; ++flip) {
    const std::uint64_t bit = random_() % (bytes.size() * kBitsPerByte);
    char& byte = bytes[bit / kBitsPerByte];
    byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1U << (bit % kBitsPerByte)));
  }
  damage_.corrupted += flips;
}

void FaultyPipe::take(std::string_view bytes, const LinkFaults& faults, Instant now) {
  for (std::size_t at = 0; at < bytes.size(); at += kSegmentBytes) {
    std::string segment(bytes.substr(at, kSegmentBytes));
    const std::uint64_t copies = 1 + draw(faults.duplicate_per_mib, segment.size()) + duplicates_owed_;
    duplicates_owed_ = 0;
    damage_.duplicated += copies - 1;
    corrupt(segment, faults);
    for (std::uint64_t copy = 0; copy < copies; ++copy) {
      bytes_ += segment.size();
      segments_.push_back({segment, arrival(segment.size(), faults, now)});
    }
  }
}

void FaultyPipe::end(StreamEnd how, const LinkFaults& faults, Instant now) {
  if (end_ == StreamEnd::kReset) return;
  end_ = how;
  end_due_ = arrival(0, faults, now);
}

std::string_view FaultyPipe::due(const LinkFaults& faults, Instant now) const {
  if (faults.is_cut || segments_.empty() || segments_.front().due > now) return {};
  return std::string_view(segments_.front().bytes).substr(front_sent_);
}

void FaultyPipe::sent(std::size_t count) {
  front_sent_ += count;
  if (segments_.empty() || front_sent_ < segments_.front().bytes.size()) return;
  bytes_ -= segments_.front().bytes.size();
  segments_.pop_front();
  front_sent_ = 0;
}

StreamEnd FaultyPipe::end_due(const LinkFaults& faults, Instant now) const {
  const bool is_due = !faults.is_cut && segments_.empty() && now >= end_due_;
  return is_due ? end_ : StreamEnd::kNotYet;
}

std::optional<Instant> FaultyPipe::next(const LinkFaults& faults) const {
  if (faults.is_cut) return std::nullopt;
  if (!segments_.empty()) return segments_.front().due;
  if (end_ != StreamEnd::kNotYet) return end_due_;
  return std::nullopt;
}

}  // namespace shoal
