// What `run` and `attach` have in common: where the bundle lies, and the report on it.
#pragma once
#include <string>

namespace firstwait {

// A line of our own on standard error.
void tell(const std::string& text);
// A new folder for a job of this name, here and now.
std::string bundle_folder(const std::string& name);
// Diagnoses the bundle. `file` empty: to standard error.
void report_bundle(const std::string& bundle, const std::string& format, const std::string& file);

}  // namespace firstwait
