// One row of a generated registry.
#pragma once
#include <string_view>

namespace firstwait {

template <typename T>
struct Registered {
  std::string_view file;  // the module's file name without extension
  const T* module;
};

}  // namespace firstwait
