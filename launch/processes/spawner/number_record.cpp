// A number without a name, or one that stands there twice, is no record: nothing is guessed.
#include "launch/processes/spawner/number_record.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/base/text/json_number.h"

namespace shoal {
namespace {

using Json = nlohmann::json;

constexpr const char* kNode = "node";
constexpr const char* kStorage = "storage";

// By number: who comes back changes nothing of it.
std::string text_of(std::vector<Peer> peers) {
  std::ranges::sort(peers, {}, &Peer::process);
  std::string text;
  for (const Peer& peer : peers) {
    const char* role = peer.role == ProcessRole::kStorage ? kStorage : kNode;
    text += Json{{"process", peer.process.value}, {"role", role}, {"name", peer.name}}.dump() + '\n';
  }
  return text;
}

std::optional<Peer> peer_in(std::string_view line) {
  const auto json = Json::parse(line, nullptr, false);
  try {
    const std::string role = json.at("role");
    if (role != kNode && role != kStorage) return std::nullopt;
    const ProcessIncarnation process{whole_number<std::uint64_t>(json.at("process"))};
    return Peer{process, role == kStorage ? ProcessRole::kStorage : ProcessRole::kNode, json.at("name"), {}};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

Result<std::optional<std::vector<Peer>>> NumberRecord::read(const std::string& path) {
  remove_unfinished(path);
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) return std::optional<std::vector<Peer>>();
  const auto text = read_file(path);
  if (!text) return text.failure();
  std::vector<Peer> peers;
  std::size_t number = 0;
  for (std::string_view rest = *text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    ++number;
    auto peer = peer_in(line);
    const bool is_news = peer && std::ranges::find(peers, peer->process, &Peer::process) == peers.end();
    if (!is_news) {
      return fail(Error::kInvalidData, compose(path, ", line ", number, ", does not say which process has a number; ",
                                               "restore it from a copy, or remove it: every process of the run then ",
                                               "gets back the number that it says it had"));
    }
    peers.push_back(std::move(*peer));
  }
  return std::optional(std::move(peers));
}

bool NumberRecord::take(const std::vector<Peer>& peers) {
  std::string text = text_of(peers);
  const std::lock_guard guard(mutex_);
  newest_ = std::move(text);
  return newest_ != written_;
}

Status NumberRecord::write() {
  std::string text;
  {
    const std::lock_guard guard(mutex_);
    if (newest_ == written_) return Done{};
    text = newest_;
  }
  const Status done = replace_file(path_, text, FileAccess::kOwnerOnly);
  const std::lock_guard guard(mutex_);
  written_ = done ? std::optional(std::move(text)) : std::nullopt;
  return done;
}

}  // namespace shoal
