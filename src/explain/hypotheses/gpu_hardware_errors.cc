#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/text.h"
#include "explain/gpu_facts.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {
    "xid events", "DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
    "DCGM_FI_DEV_ROW_REMAP_FAILURE", "DCGM_FI_DEV_ROW_REMAP_PENDING"};
constexpr Threshold kAnyError{
    "uncorrectable errors", 1, "events",
    "NVIDIA GPU Memory Error Management: an uncorrectable error needs a recovery action; DCGM "
    "health check fails on any"};
constexpr Threshold kThresholds[] = {kAnyError};
// A fault of the device can show in any phase that uses it.
constexpr Phase kPhasesExplained[] = {Phase::forward, Phase::backward,   Phase::optimizer,
                                      Phase::h2d,     Phase::collective, Phase::unexplained};

struct Xid {
  int code;
  double llr;
  std::string_view meaning;
};
// NVIDIA, "Analyzing Xid Errors with the Xid Catalog". Codes that an application causes (13, 31,
// 43, 45, 68, 69) and those that only announce another are not here. 63 and 94 were contained: they
// cost no speed.
constexpr Xid kXids[] = {
    {48, kStrong, "uncorrectable memory error"},
    {61, kPositive, "internal microcontroller breakpoint"},
    {62, kStrong, "internal microcontroller halt"},
    {63, kWeak, "memory row marked for remapping"},
    {64, kStrong, "memory row remapping failed"},
    {74, kStrong, "NVLink error"},
    {79, kVeryStrong, "the GPU has fallen off the bus"},
    {92, kPositive, "high rate of correctable memory errors"},
    {94, kPositive, "contained memory error"},
    {95, kVeryStrong, "uncontained memory error"},
    {119, kStrong, "the GPU's system processor (GSP) does not answer"},
    {120, kStrong, "error of the GPU's system processor (GSP)"},
    {140, kStrong, "unrecovered memory error"},
};
const Xid* find_xid(int64_t code) {
  const auto* x = std::find_if(std::begin(kXids), std::end(kXids),
                               [&](const Xid& k) { return k.code == code; });
  return x == std::end(kXids) ? nullptr : x;
}

int64_t code_of(const Event& e) {
  for (const std::string_view key : {"code", "xid", "number"})
    if (const auto n = parse_int(e.attribute(key))) return *n;
  return -1;
}

struct Fault {
  std::string entity, what;
  double llr = 0;
  EvidenceRow row;
  Ns time = kNoTime;
};

// Why an Xid says nothing of this run: it belongs to a host without a rank, or came longer before
// or after the run than the run took. Empty: it may.
std::string foreign(const View& view, const Event& e) {
  const auto host = host_name(e.entity);
  const auto hosts = job_hosts(view);
  if (!host.empty() && !hosts.empty() && std::find(hosts.begin(), hosts.end(), host) == hosts.end())
    return fmt::format("an Xid of {}, where no rank of the job runs", host);
  const auto& steps = view.attribution.steps;
  if (steps.size() == 0 || e.start == kNoTime || steps.start.front() == kNoTime) return "";
  // Below 1e8 s a time does not count from the epoch, and cannot be held against one that does.
  constexpr double kRelativeBelow = 1e17;
  const double first = static_cast<double>(steps.start.front()),
               last = static_cast<double>(steps.start.back() + steps.time.back()),
               at = static_cast<double>(e.start), length = last - first;
  if ((first < kRelativeBelow) != (at < kRelativeBelow)) return "";
  const double away = std::max(first - at, at - last);
  return away > length ? fmt::format("an Xid {} {} the run", seconds(away * 1e-9),
                                     at < first ? "before" : "after")
                       : "";
}

void from_events(const View& view, std::vector<Fault>& faults, std::string& harmless) {
  std::map<std::pair<std::string, int64_t>, size_t> counts;
  for (const auto* e : events(view, "xid")) {
    const auto why = foreign(view, *e);
    if (why.empty())
      ++counts[{e->entity, code_of(*e)}];
    else if (harmless.empty())
      harmless = why;
  }
  for (const auto& [key, n] : counts) {
    const Xid* x = find_xid(key.second);
    if (x == nullptr) {
      if (harmless.empty())
        harmless = fmt::format("Xid {} is an error of the program or says nothing of the device",
                               key.second);
      continue;
    }
    Fault f{key.first, fmt::format("Xid {}: {}", x->code, x->meaning), x->llr,
            fact(fmt::format("Xid {}: {}", x->code, x->meaning), "xid", key.first,
                 static_cast<double>(n), "events", true)};
    for (const auto* e : events(view, "xid"))
      if (e->entity == key.first && code_of(*e) == key.second && f.time == kNoTime)
        f.time = e->start;
    faults.push_back(std::move(f));
  }
}

// Watched for a while, and the same all the time: whatever was counted, happened before.
bool stands_still(const View& view, std::string_view metric, std::string_view entity) {
  const NameId at = view.evidence.names.find(entity);
  bool watched = false;
  for (const Series* s : view.series(metric)) {
    if (s->entity != at || s->value.size() < 2) continue;
    watched = true;
    const auto [lo, hi] = std::minmax_element(s->value.begin(), s->value.end());
    if (*lo != *hi) return false;
  }
  return watched;
}

void from_metrics(const View& view, std::vector<Fault>& faults, std::string& harmless) {
  for (const auto& r : of_job(view, gauge(view, "DCGM_FI_DEV_XID_ERRORS"))) {
    // The gauge holds the last code for ever: one that was there before explains no change.
    const auto code = static_cast<int64_t>(std::clamp(r.now_max, 0.0, 1e6));
    if (code == 0) continue;
    const Xid* x = find_xid(code);
    if (x == nullptr) {
      if (harmless.empty())
        harmless =
            fmt::format("Xid {} is an error of the program or says nothing of the device", code);
      continue;
    }
    const bool old = r.has_before() && r.before == r.now;
    faults.push_back({r.entity, fmt::format("Xid {}: {}", x->code, x->meaning),
                      old ? kWeak : x->llr,
                      row(old ? "an earlier Xid" : fmt::format("Xid {}: {}", x->code, x->meaning),
                          "DCGM_FI_DEV_XID_ERRORS", r.entity, r, "code", true)});
  }
  for (const auto& r : of_job(view, gauge(view, "DCGM_FI_DEV_ROW_REMAP_PENDING"))) {
    if (!(r.now_max >= kAnyError.value)) continue;
    const std::string_view what = "memory rows that wait for a reset to be remapped";
    faults.push_back(
        {r.entity, std::string(what), kPositive,
         row(std::string(what), "DCGM_FI_DEV_ROW_REMAP_PENDING", r.entity, r, "", true)});
  }
  for (const std::string_view name :
       {"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "DCGM_FI_DEV_ROW_REMAP_FAILURE"}) {
    const bool remap = name == "DCGM_FI_DEV_ROW_REMAP_FAILURE";
    for (const auto& r : of_job(view, gauge(view, name))) {
      if (!(r.now_max >= kAnyError.value)) continue;
      const bool fresh = r.has_before() && r.now > r.before;
      if (!remap && stands_still(view, name, r.entity)) {
        harmless =
            fmt::format("the {:.0f} uncorrectable memory errors of {} are older than this record",
                        r.now_max, gpu_label(r.entity));
        continue;
      }
      const std::string what = remap ? "row remapping has failed" : "uncorrectable memory errors";
      faults.push_back({r.entity, fmt::format("{:.0f} {}", r.now_max, what),
                        fresh || remap ? kStrong : kPositive,
                        row(what, std::string(name), r.entity, r, "", true)});
    }
  }
}

// What a snapshot of the device says of its memory. A row or page that waits for a reset has lost
// data and is still in use.
void from_settings(const View& view, std::vector<Fault>& faults) {
  struct State {
    std::string_view key, what;
    double llr;
  };
  constexpr State kStates[] = {
      {"gpu.remapped_rows_failure", "row remapping that failed", kStrong},
      {"gpu.remapped_rows_pending", "memory rows that wait for a reset to be remapped", kPositive},
      {"gpu.retired_pages_pending", "memory pages that wait for a reset to be retired", kPositive}};
  for (const State& state : kStates)
    for (const auto* s : settings(view, state.key))
      if (s->value == "1" || to_lower(s->value) == "yes")
        faults.push_back({s->entity, std::string(state.what), state.llr,
                          fact(std::string(state.what), s->key, s->entity, 1, "", true)});
}

Verdict test(const View& view) {
  std::vector<Fault> faults;
  std::string harmless;
  from_events(view, faults, harmless);
  from_metrics(view, faults, harmless);
  from_settings(view, faults);
  const bool watched = has_metric(view, "DCGM_FI_DEV_XID_ERRORS") ||
                       has_metric(view, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL") ||
                       !events(view, "xid").empty();
  if (!watched && faults.empty())
    return untested({"xid events of the kernel log", "DCGM_FI_DEV_XID_ERRORS"});
  // A slow place comes first, then the gravest error.
  std::stable_sort(faults.begin(), faults.end(), [&](const Fault& a, const Fault& b) {
    const bool here_a = is_slow_place(view, a.entity) == true,
               here_b = is_slow_place(view, b.entity) == true;
    return here_a != here_b ? here_a : a.llr > b.llr;
  });
  Weighing w;
  if (faults.empty()) {
    w.contradicts(
        kStrong,
        harmless.empty() ? "no Xid and no uncorrectable memory error was counted" : harmless,
        fact("no fault of the device", "DCGM_FI_DEV_XID_ERRORS", "", 0, "events", false));
    return std::move(w).verdict("", {});
  }
  const Fault& worst = faults.front();
  // The fault itself is a fact, whether or not it slows the job: what it costs is another question.
  w.supports(worst.llr, worst.row);
  for (size_t i = 1; i < std::min<size_t>(faults.size(), 4); ++i)
    if (faults[i].entity == worst.entity) w.hints(kWeak, faults[i].row);
  const auto& onset = view.attribution.onset;
  if (at_onset(view, worst.time)) {
    w.hints(coincidence_llr(view), fact("at the onset", "xid", worst.entity, kNaN, "", true));
  } else if (onset && onset->time != kNoTime && worst.time != kNoTime && worst.time > onset->time) {
    w.contradicts(kPositive, fmt::format("{} came after the slowdown began", worst.what),
                  fact("after the onset", "xid", worst.entity, kNaN, "", false));
  }
  weigh_place(w, view, worst.entity);
  add_place(w, view, worst.entity);
  w.link("The device reports a fault", gpu_label(worst.entity), worst.what);
  return std::move(w).verdict(fmt::format("{} reported {}", gpu_label(worst.entity), worst.what),
                              {});
}

}  // namespace

extern const Hypothesis hypothesis_gpu_hardware_errors{
    .id = "gpu.hardware_errors",
    .claim = "a GPU reports faults of its hardware",
    .decides = "Xids of the device, uncorrectable memory errors, failed or pending remaps",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 6,
    .prior = 0,
    .test = test};

}  // namespace firstwait
