// Errors as values: a Result<T> holds a T or an Error that names the place and the remedy.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace firstwait {

struct Error {
  std::string what;    // what is wrong, in one sentence without a full stop
  std::string where;   // file, and line or byte offset where known
  std::string remedy;  // what the user can do; may be empty
};

template <typename T>
class [[nodiscard]] Result {
 public:
  // NOLINTBEGIN(google-explicit-constructor): a function returns a value or an Error as it is.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  // NOLINTEND(google-explicit-constructor)
  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() { return std::get<0>(state_); }
  const T& value() const { return std::get<0>(state_); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

// A Result without a value.
struct Done {};
using Status = Result<Done>;

}  // namespace firstwait
