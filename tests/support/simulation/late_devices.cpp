// A job is computed when it ends; what it reads may be resident, of its own process or from the host.
#include "tests/support/simulation/late_devices.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "tests/support/resident_values.h"

namespace shoal {
namespace {

constexpr std::uint64_t kAtOnceOneIn = 4;

[[nodiscard]] bool is_pass(const Job& job) {
  return std::holds_alternative<ForwardJob>(job) || std::holds_alternative<LossJob>(job) ||
         std::holds_alternative<BackwardJob>(job);
}

// The device reads its own values; the fake executor reads those of the host.
[[nodiscard]] Job read_by_device(Job job) {
  const auto read = [](auto& one) {
    if constexpr (requires { one.work.input; }) one.work.input = seen_on_device(one.work.input);
    if constexpr (requires { one.work.targets; }) one.work.targets = seen_on_device(one.work.targets);
    if constexpr (requires { one.output_gradient; }) one.output_gradient = seen_on_device(one.output_gradient);
  };
  std::visit(read, job);
  return job;
}

struct Device : std::enable_shared_from_this<Device> {
  LateDevices* time = nullptr;
  std::unique_ptr<StageExecutor> executor;
  TellJobEnd tell;
  std::deque<Job> jobs;  // under way

  [[nodiscard]] JobEnd compute(const Job& job) {
    JobEnd end = end_of(*executor, read_by_device(job));
    if (auto* result = std::get_if<JobResult>(&end.outcome)) {
      std::visit([this](auto& one) { keep(one); }, *result);
    }
    return end;
  }
  [[nodiscard]] bool is_long(const Job& job) const { return is_pass(job) && time->pass_takes() > Duration::zero(); }
  void end_later() {
    const auto end = [weak = weak_from_this()] {
      if (const auto device = weak.lock()) device->end_oldest();
    };
    return is_long(jobs.front()) ? time->after(time->pass_takes(), end) : time->later(end);
  }
  void end_oldest() {
    const Job job = std::move(jobs.front());
    jobs.pop_front();
    ++time->counts().late_ends;
    JobEnd end = compute(job);
    const bool has_failed = std::holds_alternative<std::exception_ptr>(end.outcome);
    if (has_failed) jobs.clear();
    if (!jobs.empty()) end_later();
    tell(std::move(end));
  }

 private:
  template <class Result>
  void keep(Result& result) {
    if constexpr (requires { result.activation; }) leave(result.activation);
    if constexpr (requires { result.result.activation; }) leave(result.result.activation);
    if constexpr (requires { result.result.input_gradient; }) leave(result.result.input_gradient);
  }
  void leave(TensorBlob& tensor) {
    if (!tensor.has_value()) return;
    time->later([values = move_to_device(tensor)] { values->become_ready(); });
  }
};

class LateRunner final : public JobRunner {
 public:
  explicit LateRunner(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  [[nodiscard]] std::optional<JobEnd> begin(const Job& job) override {
    Device& device = *device_;
    const bool may_end_at_once = device.jobs.empty() && !device.is_long(job);
    if (may_end_at_once && device.time->draw(kAtOnceOneIn) == 0) return device.compute(job);
    device.jobs.push_back(job);
    auto& most = device.time->counts().most_under_way;
    most = std::max<std::uint64_t>(most, device.jobs.size());
    if (device.jobs.size() == 1) device.end_later();
    return std::nullopt;
  }
  [[nodiscard]] std::vector<std::string> tensor_names() const override { return device_->executor->tensor_names(); }

 private:
  std::shared_ptr<Device> device_;
};

}  // namespace

LateDevices::LateDevices(SimulationClockwork& clockwork) : clockwork_(&clockwork) {
  actor_ = clockwork.system().spawn([this]() -> caf::behavior { return behaviour(); });
}

LateDevices::~LateDevices() { clockwork_->end_now(actor_); }

caf::behavior LateDevices::behaviour() {
  return {[this](const Tick&) { call_those_due(); }, [this](const CopyToHost& order) { copy(order); }};
}

std::unique_ptr<JobRunner> LateDevices::make_runner(std::unique_ptr<StageExecutor> executor, TellJobEnd tell) {
  auto device = std::make_shared<Device>();
  device->time = this;
  device->executor = std::move(executor);
  device->tell = std::move(tell);
  return std::make_unique<LateRunner>(std::move(device));
}

void LateDevices::after(Duration wait, std::function<void()> call) {
  due_.emplace(clockwork_->now() + wait, std::move(call));
  caf::delayed_anon_send(actor_, wait, Tick{});
}

void LateDevices::call_those_due() {
  while (!due_.empty() && due_.begin()->first <= clockwork_->now()) due_.extract(due_.begin()).mapped()();
}

void LateDevices::copy(const CopyToHost& order) {
  later([this, order] {
    if (!order.tensor->is_ready()) return copy(order);
    ++counts_.copies;
    caf::anon_send(order.router, TensorCopied{order.tensor, order.tensor->to_host()});
  });
}

}  // namespace shoal
