// One instant is enough: that of the oldest job.
#include "runtime/pipeline/late/end_watch.h"

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"

namespace shoal {

void EndWatch::begin(Instant now) {
  time_.look(now);
  if (under_way_ == 0) oldest_since_ = time_.watched();
  ++under_way_;
}

void EndWatch::end(Instant now) {
  ENSURE(under_way_ > 0, "an end without a job");
  --under_way_;
  time_.look(now);
  oldest_since_ = time_.watched();
}

std::optional<std::string> EndWatch::hang(Instant now) {
  time_.look(now);
  const Duration busy = time_.watched() - oldest_since_;
  if (under_way_ == 0 || busy <= patience_) return std::nullopt;
  const auto seconds = [](Duration time) { return std::chrono::duration_cast<std::chrono::seconds>(time).count(); };
  return compose("the device hangs: its oldest of ", under_way_, " jobs has not ended in ", seconds(busy), " s, and ",
                 seconds(patience_), " s are allowed");
}

}  // namespace shoal
