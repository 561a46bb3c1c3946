// Jobs on the calling thread.
#include "runtime/pipeline/job_runner.h"

#include <utility>

namespace shoal {
namespace {

class AtOnce final : public JobRunner {
 public:
  explicit AtOnce(std::unique_ptr<StageExecutor> executor) : executor_(std::move(executor)) {}

  [[nodiscard]] std::optional<JobEnd> begin(const Job& job) override { return end_of(*executor_, job); }
  [[nodiscard]] std::vector<std::string> tensor_names() const override { return executor_->tensor_names(); }

 private:
  std::unique_ptr<StageExecutor> executor_;
};

}  // namespace

JobEnd end_of(StageExecutor& executor, const Job& job) {
  try {
    return {run_job(executor, job)};
  } catch (...) {
    return {std::current_exception()};
  }
}

std::unique_ptr<JobRunner> run_at_once(std::unique_ptr<StageExecutor> executor) {
  return std::make_unique<AtOnce>(std::move(executor));
}

}  // namespace shoal
