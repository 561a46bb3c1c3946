// One line is appended and synced; after a failure, and where enough was forgotten, the whole file is replaced.
#include "runtime/transport/control/issued_certificates.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/transport/sockets.h"

namespace shoal {
namespace {

std::string line_of(const IssuedCertificate& issued) {
  const auto until = std::chrono::duration_cast<std::chrono::seconds>(issued.until.time_since_epoch()).count();
  return nlohmann::json{{"name", issued.name}, {"serial", issued.serial}, {"token", issued.token}, {"until", until}}
             .dump() +
         '\n';
}

std::optional<IssuedCertificate> issued_in(std::string_view line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  try {
    return IssuedCertificate{json.at("name"), json.at("serial"), json.at("token"),
                             WallTime(std::chrono::seconds(json.at("until").get<std::int64_t>()))};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

// Errors: kIo; then there may be a part of it.
Status append(const std::string& path, std::string_view line) {
  const Socket file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  const bool is_written = file.is_open() &&
                          ::write(file.descriptor(), line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
                          ::fdatasync(file.descriptor()) == 0;
  if (is_written) return Done{};
  return fail(Error::kIo, compose("Cannot write ", path, ": ", std::strerror(errno), "."));
}

}  // namespace

Result<IssuedCertificates> IssuedCertificates::open(const std::string& path, WallTime now) {
  IssuedCertificates list(path);
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) {
    list.is_in_file_ = false;
    return list;
  }
  const auto text = read_file(path);
  if (!text.ok()) return text.failure();
  list.is_in_file_ = text->empty() || text->back() == '\n';
  for (std::string_view rest = *text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    ++list.lines_;
    auto issued = issued_in(line);
    if (!issued) log_warn("enrolment", path, " has a line that is not understood; it is left out");
    if (issued && issued->until >= now) {
      list.remember(std::move(*issued));
    } else {
      list.is_in_file_ = false;
    }
  }
  return list;
}

Status IssuedCertificates::add(const IssuedCertificate& issued) {
  remember(issued);
  if (!is_in_file_ || lines_ >= 2 * all_.size() + kSpareLinesMax) return rewrite();
  const Status added = append(path_, line_of(issued));
  is_in_file_ = added.ok();
  ++lines_;
  return added;
}

void IssuedCertificates::remember(IssuedCertificate issued) {
  const auto earlier =
      std::ranges::find_if(all_, [&](const auto& one) { return one.name == issued.name && one.token == issued.token; });
  if (earlier == all_.end()) {
    all_.push_back(std::move(issued));
  } else if (earlier->until <= issued.until) {
    *earlier = std::move(issued);
  }
}

Status IssuedCertificates::rewrite() {
  std::string text;
  for (const IssuedCertificate& issued : all_) text += line_of(issued);
  const Status written = replace_file(path_, text, FileAccess::kOwnerOnly);
  is_in_file_ = written.ok();
  lines_ = all_.size();
  return written;
}

bool IssuedCertificates::has(std::string_view name) const {
  return std::ranges::find(all_, name, &IssuedCertificate::name) != all_.end();
}

std::vector<std::string> IssuedCertificates::tokens_of(std::string_view name) const {
  std::vector<std::string> tokens;
  for (const IssuedCertificate& issued : all_) {
    const bool is_new = std::ranges::find(tokens, issued.token) == tokens.end();
    if (issued.name == name && !issued.token.empty() && is_new) tokens.push_back(issued.token);
  }
  return tokens;
}

}  // namespace shoal
