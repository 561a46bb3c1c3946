// Certificates that the run has given to nodes, and by which token: what `shoal evict --revoke` must know of a name
// that may be away.
//
//   certs/issued, one JSON object per line: {"name": "node2", "serial": HEX, "token": ID, "until": SECONDS}
//
// A line is on the disk before its certificate is handed out. What has expired is forgotten when the list is opened. A
// line that cannot be read is left out: who is refused does not depend on this list (revocation_book.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/transport/certificates.h"

namespace shoal {

struct IssuedCertificate {
  std::string name;
  std::string serial;
  std::string token;  // its id; empty: in exchange for the certificate before it
  WallTime until;
};

class IssuedCertificates {
 public:
  // A missing file is an empty list. Errors: kIo.
  [[nodiscard]] static Result<IssuedCertificates> open(const std::string& path, WallTime now);

  // Durably. Errors: kIo; it is remembered all the same.
  [[nodiscard]] Status add(const IssuedCertificate& issued);
  [[nodiscard]] bool has(std::string_view name) const;
  // Ids, each once.
  [[nodiscard]] std::vector<std::string> tokens_of(std::string_view name) const;

 private:
  explicit IssuedCertificates(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] Status rewrite();

  std::string path_;
  std::vector<IssuedCertificate> all_;
  bool is_in_file_ = true;  // false: the file lacks something, or has half a line
};

}  // namespace shoal
