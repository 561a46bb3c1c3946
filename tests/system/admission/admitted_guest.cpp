// Reads the run directory as its owner may, and /proc.
#include "tests/system/admission/admitted_guest.h"

#include "runtime/base/check.h"
#include "tests/support/guest/listening_ports.h"

namespace shoal {

TlsFiles certificate_of_guest(const ProcessScene& scene, const std::string& run, const std::string& name) {
  const auto authority = Authority::open((scene.run(run) / "certs").string());
  CHECK(authority.ok(), "the run has its authority");
  const auto now = std::chrono::system_clock::now();
  const auto issued = authority->issue({authority->run(), PeerRole::kNode, name}, usual_validity(now));
  CHECK(issued.ok(), "it issues certificates");
  const TlsFiles files = credential_files(scene.make_folder(name).string(), "node");
  CHECK(write_credentials(files, *issued).ok(), "they can be written");
  return files;
}

std::vector<std::uint16_t> doors_of(const ProcessScene& scene, const std::string& run, pid_t process) {
  const std::string spawner = read_all(scene.run(run) / "spawner.json");
  std::vector<std::uint16_t> doors;
  for (const std::uint16_t port : guest::listening_ports(process)) {
    const bool is_control = spawner.find(":" + std::to_string(port) + "\"") != std::string::npos;
    if (!is_control) doors.push_back(port);
  }
  return doors;
}

}  // namespace shoal
