// `shoal token new | ls | revoke`: the join tokens of a run that is under way.
//
//   ID        USES LEFT   GOOD UNTIL            STATE
//   1a2b3c4d  any number  2026-11-25T00:40:52Z  valid, in certs/join_token
//   5e6f7a8b  any number  2026-11-24T12:40:52Z  valid, was in certs/join_token
#include <algorithm>
#include <iomanip>
#include <sstream>

#include "launch/commands/operate/operate.h"
#include "launch/say.h"
#include "runtime/cluster/operate/operator_words.h"

namespace shoal {
namespace {

std::string left_text(const TokenLine& line) {
  if (line.uses_max == 0) return "any number";
  return compose(line.uses_max - std::min(line.uses, line.uses_max), " of ", line.uses_max);
}

std::string row_of(const std::string& id, const std::string& left, const std::string& until, const std::string& state) {
  std::ostringstream out;
  out << std::left << std::setw(10) << id << std::setw(12) << left << std::setw(22) << until << state << '\n';
  return out.str();
}

std::string table_of(const std::vector<TokenLine>& lines) {
  std::string text = row_of("ID", "USES LEFT", "GOOD UNTIL", "STATE");
  for (const TokenLine& line : lines) {
    text += row_of(line.id, left_text(line), line.expiry, state_words(line));
  }
  return text;
}

}  // namespace

Result<int> run_new_token(const NewTokenOptions& options) {
  const auto answer = post_patiently(options.where, std::string(kTokensPath), token_order_text(options.order));
  if (!answer) return answer.failure();
  const auto token = parse_new_token(answer->body);
  if (!token) return token.failure();
  print(*token, "\n");
  return 0;
}

Result<int> run_list_tokens(const ListTokensOptions& options) {
  const auto client = client_of(options.where);
  const auto answer = client ? client->get(std::string(kTokensPath)) : client.failure();
  if (!answer) return explain_silence(options.where, answer.failure());
  const auto lines = parse_tokens(answer->body);
  if (!lines) return lines.failure();
  print(options.form == OutputForm::kJson ? tokens_json(*lines) + "\n" : table_of(*lines));
  return 0;
}

Result<int> run_revoke_token(const RevokeTokenOptions& options) {
  const auto answer = post_patiently(options.where, std::string(kRevokeTokenPath), token_id_text(options.id));
  if (!answer) return answer.failure();
  const auto done = parse_done(answer->body);
  if (!done) return done.failure();
  print(*done, "\n");
  return 0;
}

}  // namespace shoal
