// The report and the comparison as JSON: every key always there, absent numbers
// null.
#include <algorithm>
#include <cmath>

#include "present/json_writer.h"
#include "present/present.h"

namespace firstwait {
namespace {

void interval(JsonWriter& w, const Interval& i) {
  if (!std::isfinite(i.lo) && !std::isfinite(i.hi)) {
    w.null();
    return;
  }
  w.begin_array().number(i.lo).number(i.hi).end_array();
}

void texts(JsonWriter& w, const std::vector<std::string>& items) {
  w.begin_array();
  for (const auto& item : items) w.text(item);
  w.end_array();
}

void ranks(JsonWriter& w, const std::vector<int32_t>& items) {
  w.begin_array();
  for (const auto item : items) w.integer(item);
  w.end_array();
}

void optional_integer(JsonWriter& w, std::optional<int64_t> value) {
  if (value) {
    w.integer(*value);
  } else {
    w.null();
  }
}

void onset(JsonWriter& w, const std::optional<Onset>& o) {
  if (!o || o->step < 0) {
    w.null();
    return;
  }
  w.begin_object().key("step").integer(o->step).key("time").seconds(o->time).key("interval");
  if (o->step_lo >= 0 && o->step_hi >= 0) {
    w.begin_array().integer(o->step_lo).integer(o->step_hi).end_array();
  } else {
    w.null();
  }
  w.key("before_s").number(o->before_s).key("after_s").number(o->after_s).end_object();
}

void evidence(JsonWriter& w, const std::vector<EvidenceRow>& rows) {
  w.begin_array();
  for (const auto& r : rows) {
    w.begin_object().key("text").text(r.text).key("metric").text_or_null(r.metric);
    w.key("entity").text_or_null(r.entity).key("baseline").number(r.baseline);
    w.key("current").number(r.current).key("unit").text_or_null(r.unit);
    w.key("for").boolean(r.supports).end_object();
  }
  w.end_array();
}

void job(JsonWriter& w, const Report& r) {
  const bool absolute = r.start != kNoTime;
  w.begin_object().key("id").text_or_null(r.job.id);
  w.key("ranks").integer(static_cast<int64_t>(r.rank_ids.size()));
  w.key("hosts").integer(static_cast<int64_t>(r.hosts.size()));
  w.key("steps").integer(static_cast<int64_t>(r.attribution.steps.size()));
  w.key("start").seconds(r.start).key("end").seconds(absolute ? r.end : kNoTime);
  w.key("span_s").number(r.span_s).key("owner").text_or_null(r.job.owner);
  w.key("project").text_or_null(r.job.project).key("framework").text_or_null(r.job.framework);
  w.key("world_size").integer_or_null(r.job.world_size);
  w.key("parallel").begin_object().key("dp").integer_or_null(r.job.dp);
  w.key("tp").integer_or_null(r.job.tp).key("pp").integer_or_null(r.job.pp);
  w.key("cp").integer_or_null(r.job.cp).key("ep").integer_or_null(r.job.ep).end_object();
  w.key("step_time_unit").text_or_null(r.job.unitless ? "" : "s").key("host_names");
  texts(w, r.hosts);
  w.end_object();
}

void timing(JsonWriter& w, const Attribution& a) {
  w.key("evidence_level").text(kEvidenceLevelNames[static_cast<size_t>(a.level)]);
  w.key("step_time").begin_object().key("current_s").number(a.current_s);
  w.key("baseline_s").number(a.baseline_s).key("slowdown").number(a.slowdown).key("ci95");
  interval(w, a.slowdown_ci);
  w.key("baseline_kind").text(kBaselineNames[static_cast<size_t>(a.baseline_kind)]).end_object();
  w.key("pattern").text(kPatternNames[static_cast<size_t>(a.pattern.kind)]);
  w.key("period_s").number(a.pattern.period_s).key("period_steps");
  optional_integer(w, a.pattern.period_steps);
  w.key("period_ratio").number(a.pattern.period_ratio);
  w.key("pattern_cost_s_per_step").number(a.pattern.cost_s_per_step);
  w.key("onset");
  onset(w, a.onset);
  w.key("productive_fraction").number(a.productive_fraction);
  w.key("collective_wait_s").number(a.collective_wait_s);
  w.key("collective_transfer_s").number(a.collective_transfer_s);
  w.key("ledger").begin_array();
  for (const auto& row : a.ledger) {
    w.begin_object().key("phase").text(name(row.phase)).key("seconds_per_step").number(row.seconds);
    w.key("share").number(row.share).key("before_s").number(row.before).key("ranks");
    ranks(w, row.ranks);
    w.end_object();
  }
  w.end_array();
}

void shares(JsonWriter& w, std::string_view index_name, const std::vector<double>& values) {
  w.begin_array();
  for (size_t i = 0; i < values.size(); ++i) {
    w.begin_object().key(index_name).integer(static_cast<int64_t>(i));
    w.key("slowdown").number(values[i]).end_object();
  }
  w.end_array();
}

void what_if(JsonWriter& w, const std::optional<WhatIf>& found) {
  if (!found) {
    w.null();
    return;
  }
  const WhatIf& f = *found;
  w.begin_object().key("replay_error").number(f.replay_error);
  w.key("straggler_free_slowdown").number(f.slowdown);
  w.key("worker_share_top3").number(f.worker_share_removal);
  w.key("worker_share_top3_added_back").number(f.worker_share_addback);
  w.key("last_stage_share").number(f.stage_share_removal);
  w.key("last_stage_share_added_back").number(f.stage_share_addback);
  w.key("base_s").number(f.base_s).key("no_delay_s").number(f.nodelay_s);
  w.key("ideal_s").number(f.ideal_s).key("by_dp_rank");
  shares(w, "dp_rank", f.by_dp_rank);
  w.key("by_stage");
  shares(w, "stage", f.by_stage);
  w.key("by_op").begin_array();
  for (const auto& op : f.by_op)
    w.begin_object().key("op").text(op.name).key("slowdown").number(op.slowdown).end_object();
  w.end_array();
  const auto workers = [&](const std::vector<WhatIf::Worker>& list, bool with_index) {
    w.begin_array();
    for (size_t i = 0; i < list.size(); ++i) {
      w.begin_object();
      if (with_index) w.key("rank").integer_or_null(list[i].rank);
      w.key("dp_rank").integer(list[i].dp_rank).key("stage").integer(list[i].stage);
      w.key("score").number(list[i].score).end_object();
    }
    w.end_array();
  };
  w.key("by_rank");
  workers(f.workers, true);
  w.key("top_workers");
  workers(f.top, true);
  w.key("dropped_steps").integer(f.dropped_steps).key("ignored_ops");
  texts(w, f.ignored_ops);
  w.key("refused").text_or_null(f.refused).end_object();
}

void symptoms(JsonWriter& w, const std::vector<Symptom>& list) {
  w.begin_array();
  for (const auto& s : list) {
    w.begin_object().key("signal").text(s.signal).key("before").number(s.before);
    w.key("now").number(s.now).key("unit").text_or_null(s.unit);
    w.key("shape").text_or_null(s.shape).end_object();
  }
  w.end_array();
}

void recovery(JsonWriter& w, const Recovery& r) {
  w.begin_object().key("last_good_step");
  optional_integer(w, r.last_good_step);
  w.key("gpu_hours_at_risk").number(r.gpu_hours_at_risk).key("failed_saves");
  optional_integer(w, r.failed_saves);
  w.end_object();
}

void finding(JsonWriter& w, const Finding& f) {
  w.begin_object().key("cause").text(f.cause).key("title").text(f.title);
  w.key("confidence").number(f.confidence).key("where");
  texts(w, f.verdict.where);
  w.key("scope").text_or_null(f.scope).key("since");
  onset(w, f.verdict.since);
  w.key("because").text_or_null(f.verdict.because);
  w.key("checklist_step").integer_or_null(f.checklist_step > 0 ? f.checklist_step : -1);
  w.key("cost").begin_object().key("seconds_per_step");
  w.number(f.verdict.effect ? f.verdict.effect->seconds_per_step : kNaN).key("interval");
  interval(w, f.verdict.effect ? f.verdict.effect->interval : Interval{});
  w.key("share").number(f.cost_share).key("gpu_hours").number(f.cost_gpu_hours).end_object();
  w.key("chain").begin_array();
  for (const auto& link : f.verdict.chain) {
    w.begin_object().key("what").text(link.what).key("where").text_or_null(link.where);
    w.key("value").text_or_null(link.value).end_object();
  }
  w.end_array().key("evidence");
  evidence(w, f.verdict.evidence);
  w.key("actions").begin_array();
  for (const auto& a : f.actions) {
    w.begin_object().key("id").text(a.id).key("text").text(a.text);
    w.key("gain").begin_object().key("speedup");
    interval(w, a.speedup);
    w.key("then_bound_by").text_or_null(a.then_bound_by);
    w.key("assumption").text_or_null(a.assumption).end_object();
    w.key("caution").text_or_null(a.caution).end_object();
  }
  w.end_array().key("owner").text_or_null(f.owner).end_object();
}

void rivals(JsonWriter& w, const Report& r) {
  w.key("ruled_out").begin_array();
  for (const auto& x : r.ruled_out) {
    w.begin_object().key("cause").text(x.cause).key("reason").text_or_null(x.reason).key(
        "evidence");
    evidence(w, x.evidence);
    w.end_object();
  }
  w.end_array().key("untested").begin_array();
  for (const auto& u : r.untested) {
    w.begin_object().key("cause").text(u.cause).key("needs");
    texts(w, u.needs);
    w.key("relevant").boolean(u.relevant).end_object();
  }
  w.end_array();
}

std::string_view status_name(CheckStatus s) {
  return s == CheckStatus::suspect ? "suspect" : s == CheckStatus::clear ? "clear" : "unobserved";
}

void checklist(JsonWriter& w, const std::vector<ChecklistRow>& rows) {
  w.begin_array();
  for (const auto& c : rows) {
    w.begin_object().key("step").integer(c.step).key("name").text(c.name);
    w.key("status").text(status_name(c.status)).key("summary").text_or_null(c.summary);
    w.key("begins_here").boolean(c.begins_here).end_object();
  }
  w.end_array();
}

void health(JsonWriter& w, const std::vector<HealthEntry>& entries) {
  w.begin_array();
  for (const auto& e : entries) {
    if (e.counter == nullptr) continue;
    w.begin_object().key("source").text_or_null(e.source).key("name").text(e.counter->name);
    w.key("severity").text(name(e.counter->severity));
    w.key("count").integer(static_cast<int64_t>(std::min<uint64_t>(e.count, INT64_MAX)));
    w.key("remedy").text_or_null(e.counter->remedy);
    w.key("first_place").text_or_null(e.first_place).end_object();
  }
  w.end_array();
}

void outliers(JsonWriter& w, const std::vector<Outlier>& list, std::string_view side = {}) {
  for (const auto& o : list) {
    w.begin_object();
    if (!side.empty()) w.key("side").text(side);
    w.key("step").integer_or_null(o.step).key("rank").integer_or_null(o.rank);
    w.key("seconds").number(o.seconds).key("ratio").number(o.ratio);
    w.key("phase").text(name(o.phase)).end_object();
  }
}

void observations(JsonWriter& w, const std::vector<Observation>& list) {
  w.begin_array();
  for (const auto& o : list) {
    w.begin_object().key("text").text(o.text).key("where").text_or_null(o.where);
    w.key("seconds_per_step").number(o.seconds_per_step).end_object();
  }
  w.end_array();
}

void episodes(JsonWriter& w, const std::vector<Episode>& list) {
  w.key("episodes").begin_array();
  for (const auto& e : list) {
    w.begin_object().key("first_step").integer_or_null(e.first_step);
    w.key("last_step").integer_or_null(e.last_step).key("start").seconds(e.window.from);
    w.key("end").seconds(e.window.to).key("ratio").number(e.ratio);
    w.key("seconds_per_step").number(e.seconds_per_step).end_object();
  }
  w.end_array();
}

void compared_ranks(JsonWriter& w, const Attribution& a) {
  w.key("straggles").begin_array();
  for (const auto& s : a.straggles) {
    w.begin_object().key("rank").integer_or_null(s.rank);
    w.key("first_step").integer_or_null(s.first_step);
    w.key("last_step").integer_or_null(s.last_step);
    w.key("mean_ratio").number(s.mean_ratio).key("peak_ratio").number(s.peak_ratio);
    w.key("seconds_per_step").number(s.seconds_per_step);
    w.key("p_value").number(s.p_value).end_object();
  }
  w.end_array().key("offsets").begin_array();
  for (const auto& o : a.offsets) {
    w.begin_object().key("rank").integer_or_null(o.rank).key("ratio").number(o.ratio);
    w.key("seconds_per_step").number(o.seconds_per_step).end_object();
  }
  w.end_array().key("groupings").begin_array();
  for (const auto& g : a.groupings) {
    w.begin_object().key("dimensions");
    texts(w, g.dimensions);
    w.key("value").text_or_null(g.value).key("ranks");
    ranks(w, g.ranks);
    w.key("p_value").number(g.p_value).end_object();
  }
  w.end_array().key("rank_stats").begin_array();
  for (const auto& r : a.rank_stats) {
    w.begin_object().key("rank").integer(r.rank).key("own_s").number(r.own_s);
    w.key("baseline_s").number(r.baseline_s).key("ratio_to_peers").number(r.ratio_to_peers);
    w.key("robust_z").number(r.robust_z).key("persistence").number(r.persistence);
    w.key("ratio_to_past").number(r.ratio_to_past).end_object();
  }
  w.end_array();
}

void traces(JsonWriter& w, const std::vector<TraceFacts>& list) {
  w.begin_array();
  for (const auto& t : list) {
    w.begin_object().key("rank").integer(t.rank).key("steps").integer(t.steps);
    w.key("device").text_or_null(t.device).key("has_gpu").boolean(t.has_gpu);
    w.key("productive_fraction").number(t.productive_fraction);
    w.key("gpu_busy_fraction").number(t.gpu_busy_fraction);
    w.key("loader_in_main_thread").boolean(t.loader_in_main_thread);
    w.key("loader_workers_seen").boolean(t.loader_workers_seen);
    w.key("loader_main_thread_s").number(t.loader_main_thread_s);
    w.key("loader_wait_s").number(t.loader_wait_s);
    w.key("kernels_per_step").number(t.kernels_per_step);
    w.key("median_kernel_s").number(t.median_kernel_s).key("launch_gap_s").number(t.launch_gap_s);
    w.key("sync_s").number(t.sync_s).key("item_calls_per_step").number(t.item_calls_per_step);
    w.key("copies_per_step").number(t.copies_per_step).key("h2d_copy_s").number(t.h2d_copy_s);
    w.key("h2d_bytes").number(t.h2d_bytes).key("h2d_pageable").boolean(t.h2d_pageable);
    w.key("collective_kernel_s").number(t.collective_kernel_s);
    w.key("collective_exposed_s").number(t.collective_exposed_s);
    w.key("gc_s").number(t.gc_s).key("checkpoint_s").number(t.checkpoint_s);
    w.key("compile_s").number(t.compile_s).end_object();
  }
  w.end_array();
}

void sources(JsonWriter& w, const std::vector<Source>& list) {
  const auto count = [](uint64_t n) {
    return static_cast<int64_t>(std::min<uint64_t>(n, INT64_MAX));
  };
  w.begin_array();
  for (const auto& s : list) {
    w.begin_object().key("path").text(s.path).key("importer").text_or_null(s.importer);
    w.key("rows").integer(count(s.rows)).key("bytes").integer(count(s.bytes));
    w.key("note").text_or_null(s.note).end_object();
  }
  w.end_array();
}

void side(JsonWriter& w, const ComparedSide& s) {
  w.begin_object().key("label").text(s.label).key("job").text_or_null(s.job);
  w.key("steps").integer(s.steps).key("ranks").integer_or_null(s.ranks);
  w.key("evidence_level").text(kEvidenceLevelNames[static_cast<size_t>(s.level)]);
  w.key("mean_s").number(s.mean_s).key("median_s").number(s.median_s);
  w.key("productive_fraction").number(s.productive_fraction).end_object();
}

void events(JsonWriter& w, const std::vector<Event>& list) {
  w.begin_array();
  for (const auto& e : list) {
    w.begin_object().key("kind").text(e.kind).key("entity").text_or_null(e.entity);
    w.key("start").seconds(e.start).key("end").seconds(e.end).key("attributes").begin_object();
    for (const auto& [key, value] : e.attributes) w.key(key).text(value);
    w.end_object().end_object();
  }
  w.end_array();
}

}  // namespace

std::string json_report(const Report& r) {
  JsonWriter w;
  w.begin_object().key("schema").text("firstwait.report/1").key("job");
  job(w, r);
  w.key("headline").text_or_null(r.headline).key("verdict").text_or_null(r.verdict_word);
  timing(w, r.attribution);
  w.key("what_if");
  what_if(w, r.attribution.what_if);
  w.key("replay_error").number(r.attribution.replay_error).key("symptoms");
  symptoms(w, r.symptoms);
  w.key("recovery");
  recovery(w, r.recovery);
  w.key("findings").begin_array();
  for (const auto& f : r.findings) finding(w, f);
  w.end_array();
  rivals(w, r);
  w.key("checklist");
  checklist(w, r.checklist);
  w.key("next_measurements").begin_array();
  for (const auto& n : r.next_measurements) {
    w.begin_object().key("text").text(n.text).key("decides");
    texts(w, n.decides);
    w.end_object();
  }
  w.end_array().key("input_health");
  health(w, r.input_health);
  w.key("outliers").begin_array();
  outliers(w, r.attribution.outliers);
  w.end_array().key("observations");
  observations(w, r.observations);
  episodes(w, r.attribution.episodes);
  compared_ranks(w, r.attribution);
  w.key("trace");
  traces(w, r.attribution.traces);
  w.key("sources");
  sources(w, r.sources);
  w.key("events");
  events(w, r.events);
  return w.end_object().take() + "\n";
}

std::string json_compare(const Comparison& c) {
  JsonWriter w;
  w.begin_object().key("schema").text("firstwait.compare/1").key("before");
  side(w, c.before);
  w.key("after");
  side(w, c.after);
  w.key("headline").text_or_null(c.headline);
  w.key("speedup").begin_object().key("mean").number(c.speedup_mean);
  w.key("median").number(c.speedup_median).key("ci95");
  interval(w, c.speedup_ci);
  w.key("ci95_of").text_or_null(c.ci_of).end_object().key("distinguishable");
  if (c.distinguishable) {
    w.boolean(*c.distinguishable);
  } else {
    w.null();
  }
  w.key("test").begin_object().key("name").text_or_null(c.test);
  w.key("p_value").number(c.p_value).end_object().key("phases").begin_array();
  for (const auto& p : c.phases) {
    w.begin_object().key("phase").text(name(p.phase)).key("before_s").number(p.before_s);
    w.key("after_s").number(p.after_s).end_object();
  }
  w.end_array().key("symptoms");
  symptoms(w, c.symptoms);
  w.key("outliers").begin_array();
  outliers(w, c.before.outliers, "before");
  outliers(w, c.after.outliers, "after");
  w.end_array().key("settings").begin_array();
  for (const auto& s : c.settings) {
    w.begin_object().key("entity").text_or_null(s.entity).key("key").text(s.key);
    w.key("before").text_or_null(s.before).key("after").text_or_null(s.after).end_object();
  }
  w.end_array().key("events");
  events(w, c.events);
  w.key("observations");
  observations(w, c.observations);
  w.key("predicted");
  if (c.predicted) {
    w.begin_object().key("action").text(c.predicted->action).key("speedup");
    interval(w, c.predicted->speedup);
    w.key("verdict").text_or_null(c.predicted->verdict).end_object();
  } else {
    w.null();
  }
  w.key("input_health");
  health(w, c.input_health);
  return w.end_object().take() + "\n";
}

}  // namespace firstwait
