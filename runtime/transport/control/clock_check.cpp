// The verdict is a table over both clocks; what it is made of is asked by a connection that proves nothing.
#include "runtime/transport/control/clock_check.h"

#include <ctime>

#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/transport/control/exchange.h"
#include "runtime/transport/openssl_handles.h"

namespace shoal {
namespace {

constexpr std::chrono::milliseconds kAskWithin{3000};

enum class Age { kEarly, kGood, kLate };

Age age_of(const Validity& validity, WallTime now) {
  if (now < validity.not_before) return Age::kEarly;
  return now > validity.not_after ? Age::kLate : Age::kGood;
}

std::string text_of(WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32] = {};
  (void)std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

std::string clocks_text(const ClockFacts& facts) {
  const std::string ours = compose("this machine's clock says ", text_of(facts.ours));
  return facts.spawners ? compose(ours, ", the spawner's ", text_of(*facts.spawners)) : ours;
}

TimeVerdict judge(const Validity& validity, const std::string& whose, const ClockFacts& facts, TimeFault expired) {
  const Age by_us = age_of(validity, facts.ours);
  const Age by_spawner = facts.spawners ? age_of(validity, *facts.spawners) : by_us;
  if (by_us == Age::kGood && by_spawner == Age::kGood) return {};
  const std::string times = compose(whose, " is valid from ", text_of(validity.not_before), " to ",
                                    text_of(validity.not_after), "; ", clocks_text(facts), ": ");
  if (by_us != by_spawner) {
    const char* suspect = by_us == Age::kGood ? "the spawner's machine" : "this machine";
    return {TimeFault::kClock, compose(times, "look at the clock of ", suspect)};
  }
  if (!facts.spawners) return {TimeFault::kClock, compose(times, "look at the clocks of both machines")};
  if (by_us == Age::kEarly) {
    return {TimeFault::kNotYet, compose(times, "it is waited for, unless the clocks of both machines are behind")};
  }
  return {expired, compose(times, expired == TimeFault::kOwnExpired
                                      ? "it has expired; get a new one by joining with a token (--token)"
                                      : "it has expired; the spawner gets a new one by --resume")};
}

// Reads a date like "Tue, 15 Nov 1994 08:12:31 GMT".
std::optional<WallTime> time_of_date(const std::string& date) {
  std::tm parts{};
  const char* end = ::strptime(date.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

[[nodiscard]] std::optional<Validity> value_of(const Result<Validity>& validity) {
  return validity ? std::optional(*validity) : std::nullopt;
}

// Fills in what the spawner says, as far as it does.
void ask_spawner(const HostPort& spawner, ClockFacts& facts) {
  const Deadline deadline = deadline_in(kAskWithin);
  const auto context = TlsContext::newcomer();
  if (!context.ok()) return;
  auto socket = dial(spawner, deadline);
  if (!socket.ok()) return;
  auto tls = TlsSocket::connect(std::move(*socket), **context, deadline);
  if (!tls.ok()) return;
  const X509Ptr shown(SSL_get1_peer_certificate(tls->session()));
  if (shown) facts.spawners_own = value_of(validity_of(shown.get()));
  HttpReader reader;
  if (!tls->write_all(request_text("GET", "/v1/clock", host_port_text(spawner), ""), deadline).ok()) return;
  const auto progress = read_message(*tls, reader, deadline);
  if (!progress.ok() || *progress != HttpReader::Progress::kComplete) return;
  const auto date = reader.message().headers.find("date");
  if (date != reader.message().headers.end()) facts.spawners = time_of_date(date->second);
}

}  // namespace

TimeVerdict judge_times(const ClockFacts& facts) {
  if (facts.own) {
    auto verdict = judge(*facts.own, "this node's certificate", facts, TimeFault::kOwnExpired);
    if (verdict.fault != TimeFault::kNone) return verdict;
  }
  if (!facts.spawners_own) return {};
  return judge(*facts.spawners_own, "the spawner's certificate", facts, TimeFault::kExpired);
}

Failure explain_times(const Failure& failure, const TlsFiles& own, const HostPort& spawner, WallTime now) {
  if (failure.error != Error::kRefused) return failure;
  ClockFacts facts;
  facts.ours = now;
  if (const auto certificate = read_file(own.certificate)) facts.own = value_of(validity_of(*certificate));
  ask_spawner(spawner, facts);
  const TimeVerdict verdict = judge_times(facts);
  if (verdict.fault == TimeFault::kNone) return failure;
  const bool passes = verdict.fault != TimeFault::kOwnExpired;
  return fail(passes ? Error::kUnreachable : Error::kRefused,
              compose(host_port_text(spawner), ": ", verdict.sentence, "."));
}

}  // namespace shoal
