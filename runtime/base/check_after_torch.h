// CHECK as check.h defines it, for a translation unit whose torch headers define another one. Include it last.
// The two macros cannot live together; ours takes a sentence and throws Bug.
#pragma once

#include "runtime/base/check.h"

#undef CHECK
#define CHECK(condition, why)                                                     \
  do {                                                                            \
    if (!(condition)) ::shoal::report_bug(__FILE__, __LINE__, #condition, (why)); \
  } while (false)
