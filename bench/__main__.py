"""`python -m bench`: the table of bars. Exit code 1 when one does not hold, 2 when something could not be measured."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TextIO

from bench import sections
from bench.bars import Line, all_held, rendered
from bench.child import ROOT, ChildError

PEERS = ROOT / "build" / "peers" / "bin" / "python"
SECTIONS = {"admission": sections.admission, "rows": sections.rows, "whole": sections.whole}


def _say(stream: TextIO, text: str) -> None:
    stream.write(text + "\n")
    stream.flush()


def main(arguments: list[str]) -> int:
    """Measure the sections that are named (all by default) and print their lines as they come."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="section", help=", ".join(SECTIONS))
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true", help="one object on stdout, the table on stderr")
    options = parser.parse_args(arguments)
    if unknown := set(options.sections) - set(SECTIONS):
        parser.error(f"no such section: {', '.join(sorted(unknown))}")
    begun, lines = time.monotonic(), list[Line]()
    table = sys.stderr if options.json else sys.stdout
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        plan = sections.Plan(options.rows, Path(scratch), PEERS)
        try:
            for name in options.sections or SECTIONS:
                for line in SECTIONS[name](plan):
                    lines.append(line)
                    _say(table, rendered(line))
        except ChildError as error:
            _say(sys.stderr, f"could not be measured: {error}")
            return 2
    seconds = time.monotonic() - begun
    _say(table, f"measured in {seconds:.0f} s; × is a ratio within this run")
    if options.json:
        report = {"rows": options.rows, "seconds": seconds, "lines": [line.to_json() for line in lines]}
        _say(sys.stdout, json.dumps(report))
    return 0 if all_held(lines) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
