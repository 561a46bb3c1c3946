// Words for errors of the actor library: why an actor ended, a link was lost, an answer did not come.
// The library's own rendering is names of enumerators, and leaves out what an exception said.
#pragma once

#include <exception>
#include <string>

#include <caf/error.hpp>
#include <caf/fwd.hpp>

namespace shoal {

// Returns part of a sentence: "killed", "told to end", "exception: bad_alloc".
[[nodiscard]] std::string words_of(const caf::error& reason);

// Says why a connection is lost: "closed" by the side that ended it.
[[nodiscard]] std::string words_of_lost_link(const caf::error& reason);

// For `set_exception_handler`: the actor ends with what the exception said, which the library would tell nobody; all of
// it goes to the log.
[[nodiscard]] caf::error error_of(caf::scheduled_actor* self, std::exception_ptr& thrown);

}  // namespace shoal
