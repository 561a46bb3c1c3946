// Record of revoked names, which the spawner keeps: refused names, certificates that were readmitted since, and tokens
// that do not readmit a name.
//
//   {"version": 3, "names": [{"name": "node2", "readmitted": [SERIAL...], "tokens_before": [ID...]}]}
//
// A revoked name gets a certificate again only by a token that a person has made since (`shoal token new`): neither by
// one that was there before, which its holder may have, nor by the one that the run keeps for its own machine. The file
// is replaced durably before anything of it is believed. Pure, with a small file driver.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "messages/cluster.h"
#include "runtime/base/error.h"
#include "runtime/transport/certificates.h"

namespace shoal {

class RevocationBook {
 public:
  // Readmitted certificates of a name; the oldest is forgotten, and refused: more than its processes can have that have
  // not expired (control/renewal.h).
  static constexpr std::size_t kReadmittedMax = 256;

  // Refuses every certificate of that name from now on. tokens_before: ids of all tokens there are.
  void revoke(const std::string& name, std::vector<std::string> tokens_before, WallTime now);
  // A certificate that a revoked name was given since.
  void readmit(const std::string& name, const std::string& serial, WallTime now);

  [[nodiscard]] bool is_revoked(std::string_view name) const;
  [[nodiscard]] bool is_readmitted(std::string_view name, std::string_view serial) const;
  // True when the name was revoked while there was such a token already.
  [[nodiscard]] bool is_barred(std::string_view name, std::string_view token) const;
  [[nodiscard]] const Revocations& list() const { return list_; }

  // Errors of from_text: kInvalidData.
  [[nodiscard]] std::string to_text() const;
  [[nodiscard]] static Result<RevocationBook> from_text(std::string_view text);

 private:
  [[nodiscard]] const RevokedName* find(std::string_view name) const;
  // Ascends, also over a file that was lost: others may know the list that was in it.
  void begin_version(WallTime now);

  Revocations list_;
  std::map<std::string, std::vector<std::string>, std::less<>> tokens_before_;  // by name
};

// Reads the book's file (mode 0600, replaced by rename). A missing file is an empty book. Errors: kIo, kInvalidData:
// the refused names are not known then, and no node may be let in.
[[nodiscard]] Result<RevocationBook> load_revocations(const std::string& path);
[[nodiscard]] Status save_revocations(const std::string& path, const RevocationBook& book);

}  // namespace shoal
