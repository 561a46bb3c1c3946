// Certificates that the run has given to nodes, and by which token: what `shoal evict --revoke` must know of a name
// that may be away.
//
//   certs/issued, one JSON object per line: {"name": "node2", "serial": HEX, "token": ID, "until": SECONDS}
//
// A line is on the disk before its certificate is handed out. Of the certificates that a name got by one token, or in
// exchange for others, the one that is valid longest is remembered; the file has at most kSpareLinesMax lines more than
// twice as many as are remembered, and is replaced then. What has expired is forgotten when the list is opened. A line
// that cannot be read is left out: who is refused does not depend on this list (revocation_book.h).
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
  static constexpr std::size_t kSpareLinesMax = 64;

  // A missing file is an empty list. Errors: kIo.
  [[nodiscard]] static Result<IssuedCertificates> open(const std::string& path, WallTime now);

  // Writes it durably. Errors: kIo; it is remembered all the same.
  [[nodiscard]] Status add(const IssuedCertificate& issued);
  [[nodiscard]] bool has(std::string_view name) const;
  // Ids, each once.
  [[nodiscard]] std::vector<std::string> tokens_of(std::string_view name) const;

 private:
  explicit IssuedCertificates(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] Status rewrite();
  void remember(IssuedCertificate issued);

  std::string path_;
  std::vector<IssuedCertificate> all_;
  std::size_t lines_ = 0;   // of the file
  bool is_in_file_ = true;  // false: the file lacks something, or has half a line
};

}  // namespace shoal
