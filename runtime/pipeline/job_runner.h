// A stage's device as its actor sees it: jobs are handed in, several may be under way, and each ends in its order.
//
//   begin(job) ──▶ its end, at once                     a CPU: it computes in the calling thread
//              └─▶ nothing yet ··· TellJobEnd(end)      a GPU: kernels are queued, and their end is seen later
//
// Invariant: ends come in the order of the jobs, so none is answered at once while an older one is under way. What the
// core makes of that is in jobs_under_way.h.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/executor/stage_executor.h"
#include "runtime/pipeline/replica_job.h"

namespace shoal {

// A result, or a bug in the executor, which ends the actor.
struct JobEnd {
  std::variant<JobResult, std::exception_ptr> outcome;
};

// Tells of the oldest job that has not ended. Any thread may call it, also when the actor is no more.
using TellJobEnd = std::function<void(JobEnd)>;

class JobRunner {
 public:
  JobRunner() = default;
  JobRunner(const JobRunner&) = delete;
  JobRunner& operator=(const JobRunner&) = delete;
  virtual ~JobRunner() = default;

  // None: it ends later. Called by one thread.
  [[nodiscard]] virtual std::optional<JobEnd> begin(const Job& job) = 0;
  // Names of this stage's weights, ascending.
  [[nodiscard]] virtual std::vector<std::string> tensor_names() const = 0;
};

using MakeJobRunner = std::function<std::unique_ptr<JobRunner>(TellJobEnd)>;

// Runs it to its end. What is thrown is the outcome.
[[nodiscard]] JobEnd end_of(StageExecutor& executor, const Job& job);

// The runner of an executor that computes while it is called.
[[nodiscard]] std::unique_ptr<JobRunner> run_at_once(std::unique_ptr<StageExecutor> executor);

}  // namespace shoal
