"""`python -m bench.matrix [--only FAULT]... [--contender NAME]... [--jobs N] [--pace P] [--json]`: the fault matrix.

Exit code 1 when one of our bars does not hold, 2 when a line could not be measured.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TextIO

from bench.matrix.contender import Contender, Ended, Fault
from bench.matrix.faults import faults
from bench.matrix.ground import MatrixError
from bench.matrix.naive.contender import Naive
from bench.matrix.naive.template import WORKERS
from bench.matrix.ours import Ours
from bench.matrix.report import HEADER, Line, rendered, totals
from local.errors import LocalCloudError

PACE = 1.5
"""Clouds wait more than they work, so there are more of them than processors; this is what they need then."""
NOT_THE_CALLERS = ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")
"""The stand-in answers here, whatever the caller has set up: nobody else's requests can be counted."""
CONTENDERS: Sequence[Contender] = (Ours(), *map(Naive, WORKERS))


def main(arguments: list[str]) -> int:
    """Run what is asked for and print each line as soon as those before it are there."""
    options = _options(arguments)
    for name in NOT_THE_CALLERS:
        os.environ.pop(name, None)
    table = sys.stderr if options.json else sys.stdout
    begun, lines, failed = time.monotonic(), list[Line](), list[str]()
    _say(table, HEADER)
    pool = ThreadPoolExecutor(options.jobs, thread_name_prefix="matrix")
    try:
        for fault, contender, run in [
            (fault, contender, pool.submit(_run, contender, fault))
            for fault in faults(options.pace)
            if fault.name in options.only
            for contender in CONTENDERS
            if contender.name in options.contender
        ]:
            if (line := _line(fault, contender, run, failed)) is not None:
                first = not any(earlier.fault is fault for earlier in lines)
                lines.append(line)
                _say(table, rendered(line, first=first))
    except KeyboardInterrupt:
        _say(sys.stderr, "stopped")
        # Not by way of the pool, which would wait for its clouds: they end themselves when their caller is gone.
        os._exit(130)
    for total in totals(lines):
        _say(table, total)
    broken = [fault for line in lines for fault in line.broken]
    _say(table, f"{len(lines)} lines in {time.monotonic() - begun:.0f} s")
    for sentence in [*failed, *broken]:
        _say(sys.stderr, f"FAILED: {sentence}")
    if options.json:
        _say(sys.stdout, json.dumps({"lines": [line.to_json() for line in lines], "broken": broken}))
    return 2 if failed else int(bool(broken))


def _run(contender: Contender, fault: Fault) -> Ended:
    begun = time.monotonic()
    ended = contender.run(fault)
    _say(sys.stderr, f"  {fault.name}, {contender.name}: measured in {time.monotonic() - begun:.0f} s")
    return ended


def _line(fault: Fault, contender: Contender, run: Future[Ended], failed: list[str]) -> Line | None:
    try:
        return Line(fault, contender.name, run.result())
    except (MatrixError, LocalCloudError) as error:
        failed.append(f"{fault.name}, {contender.name}: {error}")
        return None


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.matrix", description=__doc__)
    names, contenders = [fault.name for fault in faults()], [contender.name for contender in CONTENDERS]
    parser.add_argument("--only", action="append", choices=names, help="a fault; may be given again (default: all)")
    parser.add_argument("--contender", action="append", choices=contenders, help="likewise (default: all)")
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1), help="local clouds at a time")
    parser.add_argument("--pace", type=float, default=PACE, help="stretches the worker's timers, for a busy machine")
    parser.add_argument("--json", action="store_true", help="one object on stdout, the table on stderr")
    options = parser.parse_args(arguments)
    if not 1 <= options.pace <= 100:
        parser.error("--pace is a number from 1 to 100")
    options.only = options.only or names
    options.contender = options.contender or contenders
    return options


def _say(stream: TextIO, text: str) -> None:
    stream.write(text + "\n")
    stream.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
