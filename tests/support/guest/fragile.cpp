// Takes the place of the actor library's function that reads a frame: every frame that the guard lets through comes by
// here, on the thread that reads for its peer. Plain C calls: it lives in any program.
#include "tests/support/guest/fragile.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>

namespace {

// caf::io::scribe::consume(caf::execution_unit*, const void*, std::size_t)
#define SHOAL_CONSUME "_ZN3caf2io6scribe7consumeEPNS_14execution_unitEPKvm"
using Consume = bool (*)(void*, void*, const void*, std::size_t);

}  // namespace

bool consume(void* scribe, void* context, const void* bytes, std::size_t size) __asm__(SHOAL_CONSUME);

bool consume(void* scribe, void* context, const void* bytes, std::size_t size) {
  static const auto next = reinterpret_cast<Consume>(::dlsym(RTLD_NEXT, SHOAL_CONSUME));
  const std::string_view frame(static_cast<const char*>(bytes), size);
  if (frame.find(shoal::guest::kFatalWords) != std::string_view::npos) std::abort();
  return next(scribe, context, bytes, size);
}
