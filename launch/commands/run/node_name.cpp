// Host names may hold what a certificate's name may not: that becomes '-'.
#include "launch/commands/run/node_name.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <climits>

#include "runtime/base/compose.h"
#include "runtime/transport/control/node_certificate.h"

namespace shoal {
namespace {

std::string machines_node_name() {
  char host[HOST_NAME_MAX + 1] = {};
  ::gethostname(host, HOST_NAME_MAX);
  std::string name = host;
  name.resize(std::min(name.find('.'), std::min<std::size_t>(name.size(), 40)));
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '-'; }, '-');
  return compose(name.empty() || name.front() == '-' ? "node" + name : name, "-", ::getpid());
}

}  // namespace

std::string usual_node_name(const std::optional<std::string>& certs) {
  if (!certs) return machines_node_name();
  const auto certified = certified_name(node_files(*certs, 0));
  return certified ? *certified : machines_node_name();
}

}  // namespace shoal
