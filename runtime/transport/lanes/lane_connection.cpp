// Turns are short, so that lanes share their thread: at most kFramesPerTurn frames each way.
#include "runtime/transport/lanes/lane_connection.h"

#include <utility>

namespace shoal {
namespace {

constexpr int kFramesPerTurn = 8;
constexpr std::size_t kLaneFrameBytes = std::size_t{128} << 10;  // stays in the cache from the copy to the cipher

using Outcome = LaneSocket::Outcome;

}  // namespace

void LaneConnection::bind(LinkId link, std::shared_ptr<Outbox> outbox) {
  link_ = link;
  outbox_ = std::move(outbox);
  has_output_ = true;
  is_known_to_peer_ = claimed_bytes_ < kLaneClaimBytes;  // we have its answer to our claim
  if (!is_known_to_peer_) say(encoded(LaneAnswer{claim_in(claim_).key, {}}));
}

void LaneConnection::refer_to(const std::string& door) {
  say(encoded(LaneAnswer{claim_in(claim_).key, door}));
  claimed_bytes_ = 0;
  was_referred_ = true;
}

void LaneConnection::say(const std::string& bytes) {
  frame_.assign(bytes.begin(), bytes.end());
  unsent_ = frame_;
  has_output_ = true;
}

std::shared_ptr<const void> LaneConnection::receipt_for(std::size_t bytes) {
  *unread_bytes_ += bytes;
  return {nullptr, [unread = unread_bytes_, bytes](const void*) { *unread -= bytes; }};
}

LaneConnection::Heard LaneConnection::read_claim() {
  Heard heard;
  std::span<char> room = std::span(claim_).subspan(claimed_bytes_);
  const Outcome outcome = socket_->read(room);
  claimed_bytes_ = kLaneClaimBytes - room.size();
  if (outcome == Outcome::kWait) may_read_ = false;
  if (outcome == Outcome::kClosed) heard.broken = socket_->reason();
  if (outcome != Outcome::kDone) return heard;
  heard.claim = claim_in(claim_);
  return heard;
}

LaneConnection::Heard LaneConnection::read(Instant now, RateBucket& down) {
  Heard heard;
  if (!can_read()) return heard;
  if (!link_) return read_claim();
  for (int frames = 0; frames < kFramesPerTurn && down.may_go(now);) {
    std::span<char> room = reader_.room();
    const std::size_t before = room.size();
    const Outcome outcome = socket_->read(room);
    down.take(before - room.size(), now);
    const Result<bool> is_whole = reader_.filled(before - room.size());
    if (!is_whole) heard.broken = is_whole.failure().message;
    if (outcome == Outcome::kClosed) heard.broken = socket_->reason();
    if (outcome == Outcome::kWait) may_read_ = false;
    if (outcome != Outcome::kDone || !heard.broken.empty()) return heard;
    if (!*is_whole) continue;
    auto accepted = assembler_.accept(reader_.frame(), now);
    if (!accepted) {
      heard.broken = accepted.failure().message;
      return heard;
    }
    reader_.next();
    is_known_to_peer_ = true;
    ++frames;
    heard.arriving = assembler_.take_news();
    if (*accepted) heard.letter = std::move(**accepted);
    if (heard.letter || heard.arriving) return heard;
  }
  return heard;
}

bool LaneConnection::fill(Said& said) {
  if (!outbox_) return false;
  if (!cutter_ || cutter_->is_done()) {
    Outbox::Taken taken = outbox_->take();
    said.has_room_again |= taken.has_room_again;
    cutter_.reset();
    if (!taken.letter) return false;
    cutter_.emplace(std::move(*taken.letter), ++transfers_, kLaneFrameBytes);
  }
  cutter_->next(frame_);
  unsent_ = frame_;
  return true;
}

bool LaneConnection::flush(Said& said) {
  const Outcome outcome = socket_->flush();
  may_write_ = outcome == Outcome::kDone;
  if (outcome == Outcome::kClosed) said.broken = socket_->reason();
  return may_write_;
}

LaneConnection::Said LaneConnection::write(Instant now, RateBucket& up) {
  Said said;
  for (int frames = 0; can_write() && frames < kFramesPerTurn; ++frames) {
    if (!up.may_go(now)) {
      (void)flush(said);  // what was gathered goes now, the next frame when the rate allows it
      break;
    }
    if (unsent_.empty() && !fill(said)) {
      has_output_ = !flush(said);
      continue;
    }
    const std::size_t before = unsent_.size();
    const Outcome outcome = socket_->write(unsent_);
    up.take(before - unsent_.size(), now);
    if (outcome == Outcome::kDone) continue;
    may_write_ = false;
    if (outcome == Outcome::kClosed) said.broken = socket_->reason();
  }
  return said;
}

}  // namespace shoal
