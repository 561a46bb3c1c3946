// Obtaining the text that a run trains on: two known corpora out of Debian packages, or any file.
//
//   austen  Jane Austen's six novels       r-cran-janeaustenr, its data/Rdata.rdb (r_data.h)
//   kjv     the King James Bible           bible-kjv, bible-kjv-text: printed by the unpacked program
//
// Packages are downloaded by apt-get as this machine is configured, unpacked without installing, and thrown away; the
// finished text must have the published length and SHA-256 and is kept in corpora_folder() (fetch.h), so that it is
// fetched once. $SHOAL_CORPORA names a folder with the packages (NAME_*.deb) or the finished texts (austen.txt,
// kjv.txt); when it is set nothing is downloaded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"

namespace shoal {

struct Corpus {
  std::string_view name;
  std::uint64_t bytes = 0;
  std::string_view sha256;
  std::vector<std::string_view> packages;
};

// The known corpora, or nullptr.
[[nodiscard]] const Corpus* find_corpus(std::string_view name);

// folder/NAME.txt, fetched when it is absent or damaged. Any number of processes may do this at once.
// Errors: kUsage (no such corpus), kUnreachable (no apt-get, no network, no such package), kInvalidData (other text
// than published), kIo (the disk refuses).
[[nodiscard]] Result<std::filesystem::path> fetch_corpus(const std::string& name, const std::filesystem::path& folder);

// data.corpus: a known name is fetched into corpora_folder(); anything else is the path of a file, returned as it is
// (Tokens::open says what is wrong with it). A file called like a corpus is written ./austen.
[[nodiscard]] Result<std::filesystem::path> obtain_corpus(const std::string& corpus);

// Refuses a kind of text that the interface has and this version does not read: lines of JSON, an address, a folder of
// texts. named: what a person set, as a message begins with it. path: as it was given, in `folder` unless it is
// absolute. What is not there, or is another file than its name says, is told by who opens it. Errors: kUsage.
[[nodiscard]] Status check_kind_of_text(const std::string& named, const std::filesystem::path& folder,
                                        const std::string& path);

// Steps of fetch_corpus on unpacked packages, declared for tests.
// The novels of an Rdata.rdb: lines joined by one newline, novels by two, ordered by title whatever the case.
[[nodiscard]] Result<std::string> join_novels(std::string_view rdb);
// Checks that a text is the corpus: kInvalidData with both lengths and digests.
[[nodiscard]] Status check_text(const Corpus& corpus, std::string_view text);

}  // namespace shoal
