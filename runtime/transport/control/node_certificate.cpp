// Says of every failure which folder, and what a person may do.
#include "runtime/transport/control/node_certificate.h"

#include <filesystem>

#include "runtime/base/compose.h"

namespace shoal {

TlsFiles node_files(const std::string& folder, std::uint32_t device_index) {
  TlsFiles own = credential_files(folder, compose("node", device_index));
  TlsFiles shared = credential_files(folder, "node");
  std::error_code ignored;
  const bool is_shared =
      !std::filesystem::exists(own.certificate, ignored) && std::filesystem::exists(shared.certificate, ignored);
  return is_shared ? shared : own;
}

Result<std::string> certified_name(const TlsFiles& files) {
  const auto credentials = read_credentials(files);
  if (!credentials) {
    return fail(credentials.failure().error,
                compose(credentials.failure().message, "; a node's folder of certificates has ", files.ca, ", ",
                        files.certificate, " and ", files.key, ": `--token T --certs DIR` gets them from the run"));
  }
  auto identity = identity_of(credentials->certificate);
  if (!identity) return fail(identity.failure().error, compose(files.certificate, ": ", identity.failure().message));
  return std::move(identity->name);
}

Status check_certified_name(const TlsFiles& files, const std::string& name) {
  const auto certified = certified_name(files);
  if (!certified) return certified.failure();
  if (*certified == name) return Done{};
  return fail(Error::kRefused, compose("--name ", name, ": ", files.certificate, " is the certificate of ", *certified,
                                       ", and a node has the name of its certificate: leave --name away, or get a "
                                       "certificate for ",
                                       name, " with a token, in another folder"));
}

}  // namespace shoal
