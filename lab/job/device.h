// The emulated accelerator of one rank: a timed wait on the training thread, as in the MLPerf
// Storage benchmark, and a file that says what a real device's driver would.
#pragma once
#include <string>

#include "device_state.h"
#include "params.h"

namespace lab {

class Device {
 public:
  // `folder` holds a file for each device of the host; empty: it shows itself to nobody.
  Device(const std::string& folder, int index);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Clock and heat from here on.
  void set(const Knobs& knobs);
  // Work of so many milliseconds at full clock. A process that is stopped meanwhile loses that
  // time, as one that could not launch kernels does.
  void compute(double ms);
  void evaluate(double ms);

 private:
  DeviceState own_{};
  DeviceState* state_ = &own_;
  double clock_ = 1;
};

}  // namespace lab
