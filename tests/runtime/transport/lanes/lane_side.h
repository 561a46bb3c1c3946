// A process with lanes in a test: its transport, and an actor in the place of its router that keeps what it hears; and
// letters to send.
#pragma once

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "runtime/transport/lanes/tls_lanes.h"
#include "tests/runtime/transport/caf_process.h"
#include "tests/runtime/transport/test_run.h"

namespace shoal::test_support {

inline const std::vector<PeerRole> kDataRoles = {PeerRole::kSpawner, PeerRole::kNode, PeerRole::kStorage};
inline constexpr LinkId kDialled{7};   // as the side numbers it that opens the lane
inline constexpr LinkId kAccepted{3};  // as the other does

// Keeps what a router would hear.
class Ears {
 public:
  std::vector<LaneLetter> letters() {
    const std::lock_guard guard(mutex_);
    return letters_;
  }
  std::size_t heard() {
    const std::lock_guard guard(mutex_);
    return heard_;
  }
  // Counts no letter as looked at from now on, before look_at_all().
  void keep_receipts() {
    const std::lock_guard guard(mutex_);
    keeps_receipts_ = true;
  }
  void look_at_all() {
    const std::lock_guard guard(mutex_);
    letters_.clear();
  }
  std::size_t count(LaneChange::Kind kind, std::optional<LinkId> link = std::nullopt) {
    const std::lock_guard guard(mutex_);
    const auto is_meant = [&](const LaneChange& change) {
      return change.kind == kind && change.link == link.value_or(LinkId{change.link}).value;
    };
    return static_cast<std::size_t>(std::count_if(changes_.begin(), changes_.end(), is_meant));
  }
  caf::behavior behavior() {
    return {[this](const LaneLetter& letter) {
              const std::lock_guard guard(mutex_);
              letters_.push_back(letter);
              if (!keeps_receipts_) letters_.back().receipt = nullptr;
              ++heard_;
            },
            [](const LaneProgress&) {},
            [this](const LaneChange& change) {
              const std::lock_guard guard(mutex_);
              changes_.push_back(change);
            }};
  }

 private:
  std::mutex mutex_;
  std::vector<LaneLetter> letters_;
  std::size_t heard_ = 0;
  bool keeps_receipts_ = false;
  std::vector<LaneChange> changes_;
};

inline TransportLimits with(const LaneLimits& lanes) {
  TransportLimits limits;
  limits.lanes = lanes;
  return limits;
}

struct Side {
  Side(const TestRun& run, const std::string& name, LaneLimits limits = {})
      : process(run.files(PeerRole::kNode, name), run.policy(kDataRoles), with(limits)),
        actor(process.system().spawn([this]() { return ears.behavior(); })) {
    lanes().tell(actor);
  }
  ~Side() {
    process.transport().stop();
    caf::anon_send_exit(actor, caf::exit_reason::kill);
  }
  [[nodiscard]] TlsLanes& lanes() { return *process.transport().lanes(); }

  Ears ears;
  CafProcess process;
  caf::actor actor;
};

inline EncodedLetter random_letter(std::mt19937_64& random, std::size_t bytes) {
  EncodedLetter letter;
  letter.bytes.resize(1 + random() % 300);
  for (char& byte : letter.bytes) byte = static_cast<char>(random());
  auto buffer = std::make_shared<AlignedBuffer>(bytes);
  for (std::size_t i = 0; i < bytes; ++i) buffer->data()[i] = static_cast<std::byte>(random());
  letter.buffers.push_back(std::move(buffer));
  return letter;
}

inline bool is_same(const EncodedLetter& sent, const EncodedLetter& got) {
  if (sent.bytes != got.bytes || sent.buffers.size() != got.buffers.size()) return false;
  for (std::size_t i = 0; i < sent.buffers.size(); ++i) {
    if (sent.buffers[i]->size() != got.buffers[i]->size()) return false;
    if (std::memcmp(sent.buffers[i]->data(), got.buffers[i]->data(), sent.buffers[i]->size()) != 0) return false;
  }
  return true;
}

}  // namespace shoal::test_support
