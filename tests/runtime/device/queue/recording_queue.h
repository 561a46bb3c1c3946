// A fake queue that records: what a closure computes is computed again at each replay, and copied to the addresses of
// the recording, as a device's graph leaves it there. Recording computes nothing that anybody may read: results are
// NaN until the first replay. What is done, and in which order, is written down.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/runtime/device/queue/fake_queue.h"

namespace shoal {

struct Recordings {
  std::vector<std::string> events;  // "record 0", "replay 0", ...
  int count = 0;
  bool replays_nothing = false;  // the fault of a graph that is launched and does no work
};

class FakeGraph final : public DeviceGraph {
 public:
  FakeGraph(const Work& work, std::shared_ptr<Recordings> recordings)
      : work_(work), recordings_(std::move(recordings)), number_(recordings_->count++) {
    recordings_->events.push_back("record " + std::to_string(number_));
    for (const at::Tensor& computed : work_()) results_.push_back(computed.clone());
    for (const at::Tensor& result : results_) {
      if (result.is_floating_point()) result.fill_(std::numeric_limits<double>::quiet_NaN());
    }
  }
  void replay() override {
    recordings_->events.push_back("replay " + std::to_string(number_));
    if (recordings_->replays_nothing) return;
    const std::vector<at::Tensor> computed = work_();
    for (std::size_t i = 0; i < results_.size(); ++i) results_[i].copy_(computed[i]);
  }
  [[nodiscard]] const std::vector<at::Tensor>& results() const override { return results_; }

 private:
  Work work_;
  std::shared_ptr<Recordings> recordings_;
  int number_;
  std::vector<at::Tensor> results_;
};

class RecordingQueue final : public FakeQueue {
 public:
  [[nodiscard]] bool can_record() const override { return true; }
  [[nodiscard]] std::unique_ptr<DeviceGraph> record(const DeviceGraph::Work& work) override {
    capture->is_recording = true;
    if (while_recording) while_recording();
    auto graph = std::make_unique<FakeGraph>(work, recordings);
    capture->is_recording = false;
    return graph;
  }

  std::shared_ptr<Recordings> recordings = std::make_shared<Recordings>();
  std::function<void()> while_recording;  // what another thread does meanwhile
};

}  // namespace shoal
