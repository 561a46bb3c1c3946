// Paths of what the enrolment service of a test's run keeps: in the folder of that run, which goes with the test.
// The service makes each file when there is something to keep.
#pragma once

#include "runtime/transport/control/enrolment.h"
#include "tests/runtime/transport/test_run.h"

namespace shoal::test_support {

[[nodiscard]] inline EnrolmentFiles enrolment_files(const TestRun& run) {
  return {run.path("tokens"), run.path("revoked.json"), run.path("issued"), run.path("join_token")};
}

}  // namespace shoal::test_support
