"""Holds reports against the truth and prints the scoreboard."""
import json
import pathlib

from kit.runner import diagnose

SURE = 0.5  # a finding that is at least as likely as not accuses


def places_of(finding):
    return set(finding["where"]) | {link["where"] for link in finding.get("chain", [])}


def accuses(finding):
    return finding["confidence"] >= SURE and not finding["cause"].startswith("healthy.")


def predicted_gain(finding):
    """(low, high) of the first action that says one."""
    for action in finding.get("actions", []):
        gain = action.get("gain") or {}
        if gain.get("speedup"):
            low, high = gain["speedup"]
            return low, high
    return None, None


def judge(truth, report):
    """What the scoreboard shows of one scenario that is not void."""
    findings = report["findings"]
    accusing = [f for f in findings if accuses(f)]
    first = accusing[0] if accusing else None
    row = {"top": first["cause"] if first else "nothing", "confidence": first["confidence"] if first else None}
    right = set(truth["causes"])
    if not right:  # a negative control
        row.update(cause_right=not accusing, place_right=None, false=[f["cause"] for f in accusing])
        return row
    row["cause_right"] = first is not None and first["cause"] in right
    where = places_of(first) if first else set()
    row["where"] = sorted(first["where"])[:3] if first else []
    row["place_right"] = bool(first) and (not truth["place"] or bool(where & set(truth["place"])))
    also = right | set(truth.get("also", ()))
    row["false"] = [f["cause"] for f in accusing if f["cause"] not in also]
    row["onset_error"] = onset_error(truth, report, first)
    low, high = predicted_gain(first) if row["cause_right"] else (None, None)
    row["predicted"], row["measured"] = [low, high], truth["gain"]
    if not truth["gain"]:
        row["gain_right"] = None  # nothing to hold it against
    elif high is None:
        row["gain_right"] = False
    else:
        floor = low if low is not None else high
        row["gain_right"] = floor * 0.85 <= truth["gain"] <= high * 1.15
    row["delay"] = truth.get("delay")
    return row


def onset_error(truth, report, finding):
    """Steps between the true onset and that of the job, or of the finding; 0 when a chronic fault is called one; None when none
    was named."""
    named = ((report.get("onset") or (finding or {}).get("since")) or {}).get("step")
    if truth["chronic"]:
        return 0 if named is None else named
    if named is None or truth["step"][0] is None:
        return None
    first, last = truth["step"][0], truth["step"][1] if truth["step"][1] is not None else truth["step"][0]
    return 0 if first <= named <= last else min(abs(named - first), abs(named - last))


def detection_delay(folder, truth, step=2.0):
    """Seconds from the fault until the right cause comes first, as a live view that looks every `step` seconds has it."""
    if truth["chronic"] or not truth["causes"]:
        return None
    begun, after = truth["start"][0], step
    while begun + after < truth["stop"]:
        first = next((f for f in diagnose(folder, truth, begun + after)["findings"] if accuses(f)), None)
        if first and first["cause"] in truth["causes"]:
            return after
        after += step
    return None


def load(folder):
    return json.loads((pathlib.Path(folder) / "truth.json").read_text())


def _number(value, pattern="{:.2f}"):
    return "–" if value is None else pattern.format(value)


def line(truth, row):
    name = f"{truth['scenario']:<24}"
    if truth["status"] != "ok":
        return f"{name} {truth['status']}: {truth['reason']}"
    mark = {True: "✓", False: "✗", None: "–"}
    proof = truth["proof"]
    low, high = row.get("predicted", [None, None])
    gain = "–" if high is None else f"{_number(low)}…{_number(high)}" if low is not None else f"≤ {_number(high)}"
    return (f"{name} {_number(truth['slowdown']):>5}×  {mark[row['cause_right']]} {row['top']:<32} "
            f"{mark[row['place_right']]} {','.join(row.get('where', []))[:30]:<30} onset {_number(row.get('onset_error'), '{:.0f}'):>3} "
            f"gain {gain:>11} / {_number(row.get('measured')):>5} {mark[row.get('gain_right')]}  delay {_number(row.get('delay'), '{:.0f} s'):>5} "
            f"false {','.join(row['false']) or 'none'}  [{proof['counter']} +{proof['after'] - proof['before']:g}]" + scaling(truth) + noise(truth))


def scaling(truth):
    """Measured throughput at each number of ranks."""
    sizes = truth.get("samples_per_s") or {}
    return "  " + ", ".join(f"{ranks} ranks: {_number(rate, '{:.0f}')} samples/s" for ranks, rate in sizes.items()) if sizes else ""


def noise(truth):
    """Programs outside the lab that used the processors meanwhile: their contention is as real as the lab's."""
    used = truth.get("foreign_processors", 0)
    return f"  ! other programs used {used:.1f} processors" if used >= 0.3 else ""


def _share(rows, key):
    known = [r for r in rows if r is not None]
    hits = sum(1 for r in known if key(r))
    return f"{hits} of {len(known)}" + (f" ({100 * hits / len(known):.0f} %)" if known else "")


def summary(judged):
    """`judged`: (truth, row) of every scenario."""
    ran = [(t, r) for t, r in judged if t["status"] == "ok"]
    slow = [(t, r) for t, r in ran if t["causes"] and t["slowdown"] >= 1.1]
    controls = [r for t, r in ran if not t["causes"]]
    states = {s: sum(1 for t, _ in judged if t["status"] == s) for s in ("ok", "void", "skipped")}
    rows = [r for _, r in slow]
    gains = [r for r in rows if r["gain_right"] is not None]
    delays = sorted(r["delay"] for r in rows if r.get("delay") is not None)
    lines = [f"{states['ok']} ran, {states['void']} void, {states['skipped']} skipped; {len(slow)} slowed the job by at least 10 %",
             f"  top finding right   {_share(rows, lambda r: r['cause_right'])}",
             f"  place right         {_share(rows, lambda r: r['place_right'] and r['cause_right'])}",
             f"  onset within 3      {_share(rows, lambda r: r['onset_error'] is not None and r['onset_error'] <= 3)}",
             f"  gain within 15 %    {_share(gains, lambda r: r['gain_right'])}"
             + (f"; {len(rows) - len(gains)} too short after the fault to measure it" if len(gains) < len(rows) else ""),
             f"  no accusation in    {_share(controls, lambda r: r['cause_right'])} negative controls"]
    if delays:
        lines.append(f"  right cause shown   {delays[len(delays) // 2]:.0f} s after the fault (median of {len(delays)})")
    lines.append("  The accelerator is emulated; the job around it and the faults are real (lab/README.md).")
    return "\n".join(lines)
