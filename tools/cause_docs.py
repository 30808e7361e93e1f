#!/usr/bin/env python3
"""Keeps the generated part of docs/causes/*.md in step with the hypotheses' descriptors.

Usage: tools/cause_docs.py [--check] [PROGRAM]. With --check it only says what is out of date and exits 1.
"""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- from the descriptor -->", "<!-- end -->"


def table(h):
    lines = [BEGIN, f"**Claim:** {h['claim']}.", "", f"**Decided by:** {h['decides']}.", ""]
    lines.append("| | |\n|---|---|")
    lines.append(f"| checklist step | {h['checklist_step']} |")
    lines.append(f"| accounts for | {', '.join(f'`{p}`' for p in h['accounts_for']) or 'a fact of its own'} |")
    lines.append(f"| signals | {', '.join(f'`{n}`' if ' ' not in n else n for n in h['needs'])} |")
    lines.append(f"| actions | {', '.join(f'`{a}`' for a in h['actions']) or 'none'} |")
    if h["thresholds"]:
        lines += ["", "| threshold | value | source |", "|---|---|---|"]
        for t in h["thresholds"]:
            lines.append(f"| {t['name']} | {t['value']:g} {t['unit']} | {t['source']} |")
    lines.append(END)
    return "\n".join(lines)


def main():
    arguments = [a for a in sys.argv[1:] if a != "--check"]
    check = "--check" in sys.argv
    program = arguments[0] if arguments else str(ROOT / "build/release/bin/firstwait")
    listed = json.loads(subprocess.run([program, "list", "hypotheses", "--format", "json"], check=True, capture_output=True).stdout)
    stale = []
    for h in listed:
        path = ROOT / "docs/causes" / f"{h['id']}.md"
        old = path.read_text() if path.exists() else f"# {h['id']}\n\n{BEGIN}\n{END}\n"
        if BEGIN not in old or END not in old:
            lines = old.split("\n", 1)
            old = f"{lines[0]}\n\n{BEGIN}\n{END}\n{lines[1] if len(lines) > 1 else ''}"
        head, rest = old.split(BEGIN, 1)
        new = head + table(h) + rest.split(END, 1)[1]
        if not path.exists() or new != path.read_text():
            stale.append(str(path.relative_to(ROOT)))
            if not check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(new)
    for name in stale:
        print(("out of date: " if check else "written: ") + name)
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
