// Functions with the signatures of firstwait/emit.h that do nothing: what a foreign call costs by
// itself.
#include <cstdint>

extern "C" {
void empty_span(uint64_t, int64_t) {}
int64_t empty_begin(uint64_t) { return 0; }
void empty_span_full(uint64_t, int64_t, int64_t, uint64_t, int64_t, int64_t, int) {}
}
