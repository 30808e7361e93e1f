// The case study: a job gets slow, Firstwait says why, the fixes are applied and measured.
#pragma once
#include <string>

namespace firstwait {

struct DemoOptions {
  std::string out = "firstwait-demo";  // folder of the bundles and the page
};

// Becomes the lab's demo (lab/kit/demo.py), which lies beside the program as built or as installed.
// Returns only when that cannot be: 2, the reason told on standard error.
int demo(const DemoOptions& options);

}  // namespace firstwait
