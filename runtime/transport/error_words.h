// What an error of the actor library means, for people: why an actor ended, a link was lost, an answer did not come.
// Its own rendering is names of enumerators, and what an exception said is not in it.
#pragma once

#include <exception>
#include <string>

#include <caf/error.hpp>
#include <caf/fwd.hpp>

namespace shoal {

// As part of a sentence: "killed", "told to end", "exception: bad_alloc".
[[nodiscard]] std::string words_of(const caf::error& reason);

// Why a connection is lost: "closed" by whoever ended it.
[[nodiscard]] std::string words_of_lost_link(const caf::error& reason);

// For `set_exception_handler`: the actor ends with what the exception said, which the library would tell nobody; all of
// it goes to the log.
[[nodiscard]] caf::error error_of(caf::scheduled_actor* self, std::exception_ptr& thrown);

}  // namespace shoal
