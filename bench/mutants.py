"""`python -m bench.mutants`: changes the effect core in every small way that mutmut knows, and counts what is noticed.

A mutant that no test can kill, because the program does the same with it, is listed in bench/equivalent_mutants.json by
what it changes, with the reason. The rest must be killed; the score goes to bench/mutants.json.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.child import ROOT

SCORE = ROOT / "bench" / "mutants.json"
EQUIVALENT = ROOT / "bench" / "equivalent_mutants.json"
BAR = 95.0
_MUTMUT = [str(Path(sys.executable).with_name("mutmut"))]
_KILLED = {1, 3}
"""mutmut's exit codes: a test failed, or the tests could not even begin."""
_TIMEOUTS = {24, -24, 36, 152, 255}
"""The program went round for ever."""


@dataclass(frozen=True)
class Score:
    """What came of all mutants, in numbers of them; `on` is the day of the run."""

    on: str
    mutants: int
    killed: int
    equivalent: int
    survived: int

    @property
    def percent(self) -> float:
        """Of those that are not listed as equivalent."""
        return 100 * self.killed / (self.mutants - self.equivalent)


@dataclass(frozen=True)
class Change:
    """What a mutant changes: in which function, which lines to which."""

    function: str
    was: str
    becomes: str


def change_of(mutant: str, diff: str) -> Change:
    """From mutmut's diff. The number in a mutant's name moves with the code, what it changes does not."""
    lines = [line for line in diff.splitlines() if not line.startswith(("---", "+++"))]
    was, becomes = ("\n".join(line[1:].strip() for line in lines if line.startswith(sign)) for sign in "-+")
    return Change(re.sub(r"__mutmut_\d+$", "", mutant), was, becomes)


def equivalents(path: Path = EQUIVALENT) -> dict[Change, str]:
    """The reason for each mutant that is listed."""
    listed = json.loads(path.read_text())
    return {Change(each["function"], each["was"], each["becomes"]): each["reason"] for each in listed}


def score_of(codes: Mapping[str, int | None], alive: Iterable[Change], listed: Iterable[Change], on: str) -> Score:
    """The score from mutmut's exit codes and the changes of the mutants that live."""
    equivalent = sum((Counter(alive) & Counter(set(listed))).values())
    killed = sum(code in _KILLED | _TIMEOUTS for code in codes.values())
    return Score(on, len(codes), killed, equivalent, len(codes) - killed - equivalent)


def main() -> int:
    if subprocess.run([*_MUTMUT, "run"], cwd=ROOT, check=False).returncode:  # noqa: S603 - mutmut
        sys.stderr.write("mutmut did not run to its end; what it said stands above\n")
        return 1
    codes = read_codes(ROOT / "mutants")
    if None in codes.values():
        sys.stderr.write("mutmut left mutants unchecked; run it again\n")
        return 1
    living = [mutant for mutant, code in codes.items() if code not in _KILLED | _TIMEOUTS]
    changes = {mutant: change_of(mutant, _diff(mutant)) for mutant in living}
    listed = equivalents()
    score = score_of(codes, changes.values(), listed, datetime.now(UTC).date().isoformat())
    SCORE.write_text(json.dumps(asdict(score), indent=2) + "\n")
    sys.stdout.writelines(_told(score, changes, listed))
    return int(score.percent < BAR)


def read_codes(folder: Path) -> dict[str, int | None]:
    """mutmut's exit code of each mutant; None: not checked."""
    codes: dict[str, int | None] = {}
    for meta in sorted(folder.glob("functions/effects/*.meta")):
        codes |= json.loads(meta.read_text())["exit_code_by_key"]
    return codes


def _diff(mutant: str) -> str:
    shown = subprocess.run([*_MUTMUT, "show", mutant], cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S603 - mutmut
    return shown.stdout.split("\n", 1)[1]


def _told(score: Score, changes: Mapping[str, Change], listed: Mapping[Change, str]) -> Iterable[str]:
    for mutant, change in changes.items():
        what = f"equivalent, {listed[change]}" if change in listed else "survived"
        yield f"{mutant}: {what}\n  - {change.was}\n  + {change.becomes}\n"
    yield (
        f"{score.mutants} mutants, {score.killed} killed, {score.survived} survived, {score.equivalent} equivalent: "
        f"{score.percent:.1f} % (bar {BAR:.0f} %)\n"
    )


if __name__ == "__main__":
    sys.exit(main())
