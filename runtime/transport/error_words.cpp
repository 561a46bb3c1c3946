// Words for the codes that occur here; any other keeps the library's name.
#include "runtime/transport/error_words.h"

#include <string_view>

#include <caf/exit_reason.hpp>
#include <caf/scheduled_actor.hpp>
#include <caf/sec.hpp>

#include "runtime/base/compose.h"
#include "runtime/base/log.h"
#include "runtime/base/machine/memory_lack.h"

namespace shoal {
namespace {

// Longest first line that is shown whole. A longer text is a stack: its first line says what, the rest is for the log.
constexpr std::size_t kLengthMax = 300;

std::string first_line(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.size() <= kLengthMax ? std::string(line) : compose(line.substr(0, kLengthMax), " ...");
}

std::string text_of(const caf::message& context) {
  return context.match_elements<std::string>() ? context.get_as<std::string>(0) : std::string();
}

std::string_view words_of(caf::exit_reason reason) {
  switch (reason) {
    case caf::exit_reason::normal: return "done";
    case caf::exit_reason::unhandled_exception: return "exception";
    case caf::exit_reason::user_shutdown: return "told to end";
    case caf::exit_reason::kill: return "killed";
    case caf::exit_reason::remote_link_unreachable:
    case caf::exit_reason::unreachable: return "cannot be reached";
    case caf::exit_reason::unknown: return "ended before";
    case caf::exit_reason::out_of_workers: break;
  }
  return {};
}

std::string_view words_of(caf::sec code) {
  switch (code) {
    case caf::sec::request_timeout: return "no answer in time";
    case caf::sec::request_receiver_down: return "ended meanwhile";
    case caf::sec::runtime_error: return "error";
    case caf::sec::cannot_connect_to_node: return "cannot connect";
    case caf::sec::disconnect_during_handshake:
    case caf::sec::socket_disconnected: return "closed by the other side";
    default: return {};
  }
}

}  // namespace

std::string words_of(const caf::error& reason) {
  if (!reason) return "done";
  std::string_view words;
  if (reason.category() == caf::atom("exit")) words = words_of(static_cast<caf::exit_reason>(reason.code()));
  if (reason.category() == caf::atom("system")) words = words_of(static_cast<caf::sec>(reason.code()));
  const std::string said = text_of(reason.context());
  if (reason == caf::sec::runtime_error && !said.empty()) return said;
  if (words.empty()) return caf::to_string(reason);
  return said.empty() ? std::string(words) : compose(words, ": ", said);
}

std::string words_of_lost_link(const caf::error& reason) {
  const bool is_end = !reason || reason == caf::exit_reason::user_shutdown || reason == caf::exit_reason::kill;
  return is_end ? "closed" : words_of(reason);
}

caf::error error_of(caf::scheduled_actor* self, std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& exception) {
    log_error(self->name(), "exception: ", exception.what());
    if (is_lack_of_memory(exception)) return caf::make_error(caf::sec::runtime_error, memory_lack_text(exception));
    return caf::make_error(caf::sec::runtime_error, compose("exception: ", first_line(exception.what())));
  } catch (...) {
    return caf::make_error(caf::sec::runtime_error, std::string("exception of an unknown kind"));
  }
}

}  // namespace shoal
