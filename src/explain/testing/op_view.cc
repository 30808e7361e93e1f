#include "explain/testing/op_view.h"

#include "attribute/what_if.h"

namespace firstwait {

OpView::OpView(int32_t dps, int32_t stages, const whatif::Cost& cost)
    : evidence(whatif::made_up_job(dps, stages, 6, 8, cost)) {
  attribution.level = EvidenceLevel::ops;
  attribution.what_if = replay_ops(evidence);
  attribution.current_s = attribution.what_if->base_s;
}

OpView::~OpView() = default;

}  // namespace firstwait
