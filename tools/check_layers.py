#!/usr/bin/env python3
"""Checks that dependencies point one way: each folder under src/ may include only what is listed here."""
import pathlib
import re
import sys

ALLOWED = {
    "base": set(),
    "model": {"base"},
    "collect": {"base", "model"},
    "agent": {"base", "model", "collect"},
    "import": {"base", "model"},
    "store": {"base", "model"},
    "align": {"base", "model"},
    "attribute": {"base", "model", "align"},
    "explain": {"base", "model", "attribute"},
    "present": {"base", "model"},
    "apps": {"base", "model", "collect", "agent", "import", "store", "align", "attribute", "explain", "present"},
}
INCLUDE = re.compile(r'^\s*#include\s+"([a-z_]+)/')


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    faults = []
    for path in sorted(root.glob("src/**/*")):
        if path.suffix not in (".h", ".cc"):
            continue
        stage = path.relative_to(root / "src").parts[0]
        if stage not in ALLOWED:
            faults.append(f"{path.relative_to(root)}: unknown stage '{stage}'")
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if match and match[1] in ALLOWED and match[1] != stage and match[1] not in ALLOWED[stage]:
                faults.append(f"{path.relative_to(root)}:{number}: {stage} must not include {match[1]}")
        # A module without a test beside it is unfinished; a test without a module is orphaned. Action tables are constants
        # that one test checks together.
        if path.parent.name in ("importers", "hypotheses", "collectors") and path.suffix == ".cc":
            name = path.stem.removesuffix("_test")
            pair = path.with_name(f"{name}.cc" if path.stem.endswith("_test") else f"{name}_test.cc")
            if not pair.exists():
                faults.append(f"{path.relative_to(root)}: {pair.name} is missing beside it")
    for fault in faults:
        print(fault)
    print(f"layers: {'clean' if not faults else f'{len(faults)} faults'}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
