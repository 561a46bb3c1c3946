// Host names may hold what a certificate's name may not: that becomes '-'.
#include "launch/commands/run/node_name.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "runtime/base/compose.h"
#include "runtime/transport/control/node_certificate.h"
#include "runtime/transport/sockets.h"

namespace shoal {
namespace {

constexpr std::uint64_t kMachinesNamespace = 0xEFFFFFFC;  // include/linux/proc_ns.h: the namespace of no container

// Nothing: the system does not say.
std::optional<std::uint64_t> process_namespace() {
  struct stat status {};
  if (::stat("/proc/self/ns/pid", &status) != 0) return std::nullopt;
  return status.st_ino;
}

std::string machines_node_name() { return node_name_of(host_name(), ::getpid(), process_namespace()); }

}  // namespace

std::string node_name_of(std::string name, int process, std::optional<std::uint64_t> process_namespace) {
  name.resize(std::min(name.find('.'), std::min<std::size_t>(name.size(), 40)));
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '-'; }, '-');
  name = compose(name.empty() || name.front() == '-' ? "node" + name : name, "-", process);
  const bool is_in_container = process_namespace && *process_namespace != kMachinesNamespace;
  return is_in_container ? compose(name, "-", *process_namespace) : name;
}

std::string usual_node_name(const std::optional<std::string>& certs) {
  if (!certs) return machines_node_name();
  const auto certified = certified_name(node_files(*certs, 0));
  return certified ? *certified : machines_node_name();
}

}  // namespace shoal
