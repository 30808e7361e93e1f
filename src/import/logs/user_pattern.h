// The user's own description of a log line: a regular expression with named groups.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "import/logs/step_assembler.h"

namespace firstwait {

// Groups, by name: step (required), rank, epoch, time (epoch seconds or ISO 8601), duration,
// elapsed (a clock of training time), loss, samples, tokens. `duration` and `elapsed` may end in _s
// _ms _us _ns; without, seconds. Matching is bounded (PCRE2 match and depth limits), so no
// expression can hang on a line.
class UserPattern {
 public:
  static Result<UserPattern> compile(const std::string& expression);
  UserPattern(UserPattern&&) noexcept;
  UserPattern& operator=(UserPattern&&) noexcept;
  ~UserPattern();
  // Nothing when the line does not match. `gave_up` is set when the limits ended the search.
  std::optional<LogRecord> match(std::string_view line, bool& gave_up) const;

 private:
  struct Compiled;
  explicit UserPattern(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace firstwait
