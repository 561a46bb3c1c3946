// Where the enrolment desk of a test's run keeps what must outlive it: in the folder of that run, which goes with the
// test.
#pragma once

#include "runtime/transport/control/enrolment.h"
#include "tests/runtime/transport/test_run.h"

namespace shoal::testing {

[[nodiscard]] inline EnrolmentFiles enrolment_files(const TestRun& run) {
  return {run.path("tokens"), run.path("revoked.json"), run.path("issued"), run.path("join_token")};
}

}  // namespace shoal::testing
