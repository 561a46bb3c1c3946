// CHECK as check.h defines it, for a translation unit whose torch headers define another one. Include it last.
#pragma once

#include "runtime/base/check.h"

#undef CHECK
#define CHECK(condition, why)                                                     \
  do {                                                                            \
    if (!(condition)) ::shoal::report_bug(__FILE__, __LINE__, #condition, (why)); \
  } while (false)
