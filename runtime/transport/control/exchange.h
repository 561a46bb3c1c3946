// One HTTP message from a TLS connection, whole or not at all.
//
// Both sides of the control endpoint read with it, under the reader's limits and one deadline.
#pragma once

#include "runtime/base/error.h"
#include "runtime/transport/control/http_message.h"
#include "runtime/transport/tls_socket.h"

namespace shoal {

// Reads until the reader says anything but kMore, which is returned. Errors: kUnreachable (deadline, connection lost,
// closed too early), kRefused (a TLS alert).
[[nodiscard]] Result<HttpReader::Progress> read_message(TlsSocket& socket, HttpReader& reader, Deadline deadline);

}  // namespace shoal
