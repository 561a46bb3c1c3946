// Expected failures as values.
//
// Three kinds of error exist and are never mixed: a bug is an ENSURE (ensure.h), a peer or device failure is a message,
// and everything else that can be foreseen (a bad file, a full disk, a refused certificate) is a Result carrying one
// Error and a sentence that says what, where, why and what to do. Exceptions of libraries end where they are called.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "runtime/base/ensure.h"

namespace shoal {

// Kinds of failure, as far as callers decide by them. exit_code() maps each to the process's exit status.
enum class Error {
  kInternal,     // 1: a bug or a library that failed without a reason we know
  kUsage,        // 2: a bad option, key, value or address already in use
  kInvalidData,  // 3: a corpus, checkpoint or journal that cannot be used; a disk that refuses the journal
  kIo,           // 3: the operating system refused a read or write
  kRefused,      // 4: token, certificate, version, name or incarnation not accepted
  kUnreachable,  // 4: nobody answers at an address within the deadline
  kDiverged,     // 5: ten skipped steps in a row
};

struct Failure {
  Error error = Error::kInternal;
  std::string message;
};

[[nodiscard]] inline Failure fail(Error error, std::string message) { return Failure{error, std::move(message)}; }

[[nodiscard]] constexpr int exit_code(Error error) {
  switch (error) {
    case Error::kInternal: return 1;
    case Error::kUsage: return 2;
    case Error::kInvalidData:
    case Error::kIo: return 3;
    case Error::kRefused:
    case Error::kUnreachable: return 4;
    case Error::kDiverged: return 5;
  }
  return 1;
}

// A T or the Failure that prevented it. Reading the wrong one is a bug and dies in ENSURE.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Failure failure) : state_(std::move(failure)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  [[nodiscard]] T& value() {
    ENSURE(ok(), "value() of a failed Result: " + failure_text());
    return std::get<0>(state_);
  }
  [[nodiscard]] const T& value() const {
    ENSURE(ok(), "value() of a failed Result: " + failure_text());
    return std::get<0>(state_);
  }
  [[nodiscard]] T& operator*() { return value(); }
  [[nodiscard]] const T& operator*() const { return value(); }
  [[nodiscard]] T* operator->() { return &value(); }
  [[nodiscard]] const T* operator->() const { return &value(); }

  [[nodiscard]] const Failure& failure() const {
    ENSURE(!ok(), "failure() of a successful Result");
    return std::get<1>(state_);
  }

 private:
  [[nodiscard]] std::string failure_text() const { return ok() ? std::string() : std::get<1>(state_).message; }

  std::variant<T, Failure> state_;
};

// Success without a value: `return Done{};`
struct Done {};
using Status = Result<Done>;

}  // namespace shoal
