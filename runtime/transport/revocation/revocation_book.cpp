// Names are few: a search from the front.
#include "runtime/transport/revocation/revocation_book.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/base/file.h"

namespace shoal {

void RevocationBook::begin_version(WallTime now) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  list_.version = std::max(list_.version + 1, static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 0)));
}

void RevocationBook::revoke(const std::string& name, std::vector<std::string> tokens_before, WallTime now) {
  std::erase_if(list_.names, [&](const RevokedName& one) { return one.name == name; });
  list_.names.push_back({name, {}});
  tokens_before_.insert_or_assign(name, std::move(tokens_before));
  begin_version(now);
}

void RevocationBook::readmit(const std::string& name, const std::string& serial, WallTime now) {
  const auto found = std::ranges::find(list_.names, name, &RevokedName::name);
  ENSURE(found != list_.names.end(), "only a revoked name is readmitted");
  found->readmitted.push_back(serial);
  if (found->readmitted.size() > kReadmittedMax) found->readmitted.erase(found->readmitted.begin());
  begin_version(now);
}

const RevokedName* RevocationBook::find(std::string_view name) const {
  const auto found = std::ranges::find(list_.names, name, &RevokedName::name);
  return found == list_.names.end() ? nullptr : &*found;
}

bool RevocationBook::is_revoked(std::string_view name) const { return find(name) != nullptr; }

bool RevocationBook::is_readmitted(std::string_view name, std::string_view serial) const {
  const RevokedName* revoked = find(name);
  return revoked != nullptr && std::ranges::find(revoked->readmitted, serial) != revoked->readmitted.end();
}

bool RevocationBook::is_barred(std::string_view name, std::string_view token) const {
  const auto found = tokens_before_.find(name);
  return found != tokens_before_.end() && std::ranges::find(found->second, token) != found->second.end();
}

std::string RevocationBook::to_text() const {
  nlohmann::ordered_json json{{"version", list_.version}, {"names", nlohmann::ordered_json::array()}};
  for (const RevokedName& revoked : list_.names) {
    json["names"].push_back({{"name", revoked.name},
                             {"readmitted", revoked.readmitted},
                             {"tokens_before", tokens_before_.at(revoked.name)}});
  }
  return json.dump(2) + '\n';
}

Result<RevocationBook> RevocationBook::from_text(std::string_view text) {
  RevocationBook book;
  try {
    const auto json = nlohmann::json::parse(text);
    json.at("version").get_to(book.list_.version);
    for (const auto& one : json.at("names")) {
      RevokedName revoked{one.at("name"), one.at("readmitted")};
      book.tokens_before_[revoked.name] = one.at("tokens_before").get<std::vector<std::string>>();
      book.list_.names.push_back(std::move(revoked));
    }
  } catch (const nlohmann::json::exception& error) {
    return fail(Error::kInvalidData, compose("the list of revoked names is damaged (", error.what(), ")"));
  }
  return book;
}

Result<RevocationBook> load_revocations(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) return RevocationBook();
  const auto text = read_file(path);
  if (!text.ok()) return text.failure();
  auto book = RevocationBook::from_text(*text);
  if (book.ok()) return book;
  return fail(Error::kInvalidData,
              compose(path, ": ", book.failure().message,
                      "; put it back from a copy, or remove it if nobody was revoked: without it everybody who was "
                      "may come back"));
}

Status save_revocations(const std::string& path, const RevocationBook& book) {
  return replace_file(path, book.to_text(), FileAccess::kOwnerOnly);
}

}  // namespace shoal
