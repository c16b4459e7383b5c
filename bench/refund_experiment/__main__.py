"""`python -m bench.refund_experiment [--runs N] [--only INJECTION]... [--variant V]... [--json] [--aws]`.

Exit code 1 when ours is not one side effect everywhere, 2 when a cell could not be measured.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TextIO

from bench.refund_experiment.aws_ground import Account
from bench.refund_experiment.cell import Cell
from bench.refund_experiment.injections import INJECTIONS, NAMED
from bench.refund_experiment.local_ground import local_ground
from bench.refund_experiment.report import HEADER, broken, markdown, rendered, to_json
from bench.refund_experiment.run import Experiment, Ground
from bench.refund_experiment.timers import ACCOUNT, LOCAL
from bench.refund_experiment.variants import TOOLS, VARIANTS, Tool, Variant
from bench.refund_experiment.watching import ExperimentError
from cli.errors import CommandError
from local.errors import LocalCloudError

DEFAULT_RUNS = 12
ACCOUNT_AT_ONCE = 10


def main(arguments: list[str]) -> int:
    """Run what is asked for, tool by tool, and print its cells; what does not hold is said at the end."""
    options = _options(arguments)
    table = sys.stderr if options.json else sys.stdout
    begun, cells = time.monotonic(), list[Cell]()
    try:
        with ExitStack() as held:
            account = _account(options, held) if options.aws else None
            _say(table, HEADER)
            for tool, variants in _by_tool(options):
                opened = _in_account(account, tool) if account else _here(tool, options.handlers)
                with opened as ground:
                    experiment = Experiment(ground, runs=options.runs, seed=options.seed)
                    for cell in experiment.cells(variants, [NAMED[name] for name in options.only]):
                        cells.append(cell)
                        _say(table, rendered(cell))
    except KeyboardInterrupt:
        _say(sys.stderr, "stopped")
        return 130
    except (CommandError, ExperimentError, LocalCloudError) as error:
        _say(sys.stderr, str(error))
        return 2
    return _ended(options, table, cells, time.monotonic() - begun)


def _ended(options: argparse.Namespace, table: TextIO, cells: Sequence[Cell], seconds: float) -> int:
    requests = sum(len(cell.rows) + len(cell.others) for cell in cells if cell.variant.tool.is_ours)
    _say(table, f"{len(cells)} cells in {seconds:.0f} s, {requests} requests of ours, seed {options.seed}")
    if options.markdown:
        _say(table, "\n".join(markdown(cells)))
    wrong = broken(cells)
    for sentence in wrong:
        _say(sys.stderr, f"FAILED: {sentence}")
    if options.json:
        _say(sys.stdout, json.dumps({"cells": [to_json(cell) for cell in cells], "broken": wrong}))
    return int(bool(wrong))


def _by_tool(options: argparse.Namespace) -> Iterator[tuple[Tool, Sequence[Variant]]]:
    # On an account there is nobody who would count Stripe's refunds.
    chosen = [each for each in VARIANTS if each.name in options.variant and not (options.aws and each.name == "5s")]
    for tool in TOOLS:
        if own := [each for each in chosen if each.tool is tool]:
            yield tool, own


@contextmanager
def _here(tool: Tool, handlers: int) -> Iterator[Ground]:
    with local_ground(tool, handlers=handlers) as cloud:
        # Half of them, or callers would give up on tools that have not begun.
        yield Ground(cloud, LOCAL, max(1, handlers // 2), lambda: cloud.refunds()["by_request_id"])


@contextmanager
def _in_account(account: Account, tool: Tool) -> Iterator[Ground]:
    with account.deployed(tool) as cloud:
        yield Ground(cloud, ACCOUNT, ACCOUNT_AT_ONCE, None)


def _account(options: argparse.Namespace, held: ExitStack) -> Account:
    """Raises CommandError, also where whoever is asked does not say yes."""
    account = Account(options.region)
    _say(sys.stderr, account.intention([tool for tool, _ in _by_tool(options)]))
    if not options.yes:
        _say(sys.stderr, "Type yes to go on:")
        if sys.stdin.readline().strip() != "yes":
            raise CommandError("Nothing was made.")
    held.enter_context(account.code())
    return account


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.refund_experiment", description=__doc__)
    names, variants = [injection.name for injection in INJECTIONS], [variant.name for variant in VARIANTS]
    parser.add_argument("--runs", type=int, default=DEFAULT_RUNS, help="of each injection with ours, at random moments")
    parser.add_argument("--seed", type=int, default=1, help="of the random moments")
    parser.add_argument(
        "--only", action="append", choices=names, help="an injection; may be given again (default: all)"
    )
    parser.add_argument("--variant", action="append", choices=variants, help="likewise (default: all)")
    parser.add_argument("--handlers", type=int, default=4, help="handlers at a time on the local cloud")
    parser.add_argument("--json", action="store_true", help="one object on stdout, the table on stderr")
    parser.add_argument("--markdown", action="store_true", help="the table once more, as in docs/refunds.md")
    parser.add_argument("--aws", action="store_true", help="on an AWS account, in stacks that are deleted again")
    parser.add_argument("--region", help="with --aws; else that of the AWS settings")
    parser.add_argument("--yes", action="store_true", help="with --aws: do not ask")
    options = parser.parse_args(arguments)
    if options.runs < 1 or options.handlers < 1:
        parser.error("--runs and --handlers are numbers from 1")
    options.only = options.only or names
    options.variant = options.variant or variants
    return options


def _say(stream: TextIO, text: str) -> None:
    stream.write(text + "\n")
    stream.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
