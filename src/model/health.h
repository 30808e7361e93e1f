// Health of the inputs: everything that was skipped, repaired or lost is counted under a name, with
// a remedy.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace firstwait {

enum class Severity : uint8_t { info, error, data_loss };
constexpr std::string_view name(Severity s) {
  return s == Severity::info ? "info" : s == Severity::error ? "error" : "data_loss";
}

// A constant descriptor: what can go wrong in an input, and what the user can do about it.
struct HealthCounter {
  std::string_view name;  // snake case, unique within its importer: "truncated_json"
  Severity severity;
  std::string_view remedy;
};

struct HealthEntry {
  std::string source;  // the file
  const HealthCounter* counter = nullptr;
  uint64_t count = 0;
  std::string first_place;  // where it happened first: "line 17", "byte 4096"
};

class Health {
 public:
  // `counter` must outlive this object (descriptors are constants).
  void add(std::string_view source, const HealthCounter& counter, uint64_t count = 1,
           std::string_view place = {});
  const std::vector<HealthEntry>& entries() const { return entries_; }

 private:
  std::vector<HealthEntry> entries_;
  std::unordered_map<std::string, std::vector<size_t>>
      by_source_;  // of many files, each has few entries
};

}  // namespace firstwait
