#!/usr/bin/env python3
"""Fills the generated parts of README.md by running the program, so that they say what it says today.

    tools/readme.py [PROGRAM]      rewrites README.md; PROGRAM defaults to build/release/bin/firstwait
    tools/readme.py --check        exits 1 when README.md is not what the program says

A part stands between `<!-- NAME -->` and `<!-- /NAME -->`; a bare @@NAME@@ is replaced by such a part.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TRACE = "demo/traces/loader_workers_0"


def run(program, *args):
    # A fixed locale and no terminal: the same text everywhere.
    env = {**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
    done = subprocess.run([str(program), *args], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{program} {' '.join(args)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def report(program):
    return "```\n" + run(program, "diagnose", TRACE).rstrip() + "\n```"


def importers(program):
    """Three lines an importer: its id, what it reads, which files (indented)."""
    rows, current = [], []
    for line in run(program, "list", "importers").splitlines():
        if not line.strip():
            continue
        if not line.startswith(" "):
            current = [line.strip()]
            rows.append(current)
        elif rows:
            current.append(line.strip())
    table = ["| importer | what | files |", "|---|---|---|"]
    for row in rows:
        cells = [cell.replace("|", r"\|").replace("*", r"\*") for cell in (row + ["", ""])[:3]]
        table.append(f"| `{row[0]}` | {cells[1]} | {cells[2]} |")
    return "\n".join(table)


def filled(text, name, content):
    part = f"<!-- {name} -->\n{content}\n<!-- /{name} -->"
    if f"@@{name}@@" in text:
        return text.replace(f"@@{name}@@", part)
    pattern = re.compile(rf"<!-- {name} -->.*?<!-- /{name} -->", re.S)
    if not pattern.search(text):
        sys.exit(f"README.md has no place for {name}: put @@{name}@@ where it belongs")
    return pattern.sub(lambda _: part, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default=ROOT / "build/release/bin/firstwait")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when README.md is out of date")
    options = parser.parse_args()
    readme = ROOT / "README.md"
    before = readme.read_text(encoding="utf-8")
    after = filled(before, "REPORT", report(options.program))
    after = filled(after, "IMPORTERS", importers(options.program))
    if options.check:
        sys.exit(0 if before == after else "README.md is out of date: run tools/readme.py")
    readme.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main()
