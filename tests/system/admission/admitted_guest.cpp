// Reads the run directory as its owner may.
#include "tests/system/admission/admitted_guest.h"

#include "runtime/base/ensure.h"

namespace shoal {

TlsFiles certificate_of_guest(const ProcessScene& scene, const std::string& run, const std::string& name) {
  const auto authority = Authority::open((scene.run(run) / "certs").string());
  ENSURE(authority.ok(), "the run has its authority");
  const auto now = std::chrono::system_clock::now();
  const auto issued = authority->issue({authority->run(), PeerRole::kNode, name}, usual_validity(now));
  ENSURE(issued.ok(), "it issues certificates");
  const TlsFiles files = credential_files(scene.make_folder(name).string(), "node");
  ENSURE(write_credentials(files, *issued).ok(), "they can be written");
  return files;
}

}  // namespace shoal
