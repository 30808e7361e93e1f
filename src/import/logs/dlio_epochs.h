// DLIO writes one run into several files; what one of them alone does not say is put together when
// all were read.
#pragma once
#include <string>
#include <string_view>

#include "model/evidence.h"

namespace firstwait {

// The run that a DLIO output file belongs to: the name of its folder.
std::string dlio_run(std::string_view path);

// Step rows for runs of which only epochs are known: one row per epoch, its waiting from the
// accelerator utilisation. Runs with per-rank outputs have steps already and get none. Idempotent:
// runs that have rows are left alone.
void add_dlio_epoch_rows(Evidence& evidence);

}  // namespace firstwait
