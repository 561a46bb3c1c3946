// A client's session writes its hello into memory instead of a socket.
#include "tests/support/guest/first_bytes.h"

#include <openssl/bio.h>
#include <openssl/ssl.h>

#include "runtime/base/ensure.h"
#include "runtime/transport/tls_context.h"

namespace shoal::guest {
namespace {

std::string hello_for(PortProtocol protocol) {
  const auto context = TlsContext::newcomer();
  SSL* session = (*context)->new_session();
  SSL_set_bio(session, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));  // they end with the session
  SSL_set_connect_state(session);
  ask_for(session, protocol);
  (void)SSL_do_handshake(session);
  char* data = nullptr;
  const long size = BIO_get_mem_data(SSL_get_wbio(session), &data);
  ENSURE(size > 0, "a client speaks first");
  std::string bytes(data, static_cast<std::size_t>(size));
  SSL_free(session);
  return bytes;
}

}  // namespace

std::string_view name_of(FirstBytes sort) {
  switch (sort) {
    case FirstBytes::kNothing: return "Nothing";
    case FirstBytes::kOneByte: return "OneByte";
    case FirstBytes::kPartialHello: return "PartialHello";
    case FirstBytes::kControlHello: return "ControlHello";
    case FirstBytes::kLinkHello: return "LinkHello";
    case FirstBytes::kLaneHello: break;
  }
  return "LaneHello";
}

std::optional<PortProtocol> asked_by(FirstBytes sort) {
  switch (sort) {
    case FirstBytes::kControlHello: return PortProtocol::kControl;
    case FirstBytes::kLinkHello: return PortProtocol::kLink;
    case FirstBytes::kLaneHello: return PortProtocol::kLane;
    default: return std::nullopt;
  }
}

std::string bytes_of(FirstBytes sort) {
  if (sort == FirstBytes::kNothing) return {};
  const std::string hello = hello_for(asked_by(sort).value_or(PortProtocol::kLink));
  if (sort == FirstBytes::kOneByte) return hello.substr(0, 1);
  return sort == FirstBytes::kPartialHello ? hello.substr(0, hello.size() / 2) : hello;
}

}  // namespace shoal::guest
