// The certificate that a person gives a node (`--certs DIR`): which files of the folder, and the name in it.
//
// A node's name in the run is its certificate's: what throws a name out of the run must also refuse the certificate.
// Peers hold a process to that (router/letter_check.h); here an honest node learns it before anything is started.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/error.h"
#include "runtime/transport/certificates.h"

namespace shoal {

// Returns the files of the worker with that number: ca.crt, node<K>.crt, node<K>.key, as a keeper writes them. Where
// there is no node<K>.crt, node.crt and node.key: one certificate for all workers of a node.
[[nodiscard]] TlsFiles node_files(const std::string& folder, std::uint32_t device_index);

// Returns the name that the holder of these files has. Errors: kIo (a file is missing, all three are named),
// kInvalidData or kRefused (not a certificate of a run).
[[nodiscard]] Result<std::string> certified_name(const TlsFiles& files);

// Errors: as certified_name(); kRefused: the certificate is that of another name, and both are named.
[[nodiscard]] Status check_certified_name(const TlsFiles& files, const std::string& name);

}  // namespace shoal
