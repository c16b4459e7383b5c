"""`python -m bench.soak [--rows N] [--kills N] [--json]`: a large file through the local cloud while intake is killed.

Exit code 1 unless every row ended once, with one request each, and the handlers' memory stayed flat.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from bench.leads import leads
from bench.processes import SERVER, Memory, Processes
from functions.uploads.model import Upload
from functions.uploads.table import UploadsTable
from local.cloud import LocalCloud
from local.options import LocalCloudOptions

ROLES = ("intake", "classify", "finish")
FLAT_MIB = 1.0
"""MiB a 1,000 rows that a handler's memory may grow by on average, in the second half of the rows."""
_ROWS_A_SLOPE = 5_000
_LOOK_S = 0.02
_SAMPLE_S = 1.0
_ROWS_A_SECOND_AT_LEAST = 15


class SoakError(Exception):
    """The upload did not end in time; the message says where it stood."""


@dataclass
class Soaked:
    """What went in and what came out. `published_again`: events beyond one a row; `slopes`: MiB a 1,000 rows."""

    rows: int
    kills_wanted: int
    kills_at: list[int] = field(default_factory=list)
    terminal: int = 0
    classified: int = 0
    row_numbers_once: bool = False
    model_requests: int = 0
    published_again: int = 0
    redelivered: int = 0
    dead_letters: int = 0
    seconds: float = 0.0
    peaks_mib: dict[str, float] = field(default_factory=dict)
    slopes: dict[str, float] = field(default_factory=dict)

    @property
    def duplicates(self) -> int:
        return self.model_requests - self.rows

    @property
    def faults(self) -> list[str]:
        """What did not hold; empty when everything did."""
        steep = [role for role in ROLES if self.rows >= _ROWS_A_SLOPE and self.slopes.get(role, 0.0) > FLAT_MIB]
        checks = {
            f"{self.terminal:,} rows ended of {self.rows:,}": self.terminal == self.rows,
            f"{self.classified:,} rows were classified": self.classified == self.rows,
            "a row number is missing or there twice": self.row_numbers_once,
            f"{self.model_requests:,} model requests for {self.rows:,} rows": self.duplicates == 0,
            f"{self.dead_letters} dead letters": self.dead_letters == 0,
            f"intake was killed {len(self.kills_at)} times": len(self.kills_at) == self.kills_wanted,
            f"memory grows: {', '.join(steep)}": not steep,
        }
        return [sentence for sentence, held in checks.items() if not held]


def soak(rows: int, kills: int, tell: Callable[[str], None] = lambda _: None) -> Soaked:
    """Run it. Raises SoakError, LocalCloudError."""
    # A dead publisher is continued when its invocation would have ended, so the time-out is what a kill costs.
    timeout_s = 5 + rows // 1000
    context = {
        "intake_timeout_s": str(timeout_s),
        # The local minute is too short for the results of a long file; deployed, finishing has a quarter of an hour.
        "finish_timeout_s": str(min(900, 60 + rows // 200)),
        "stop_before_timeout_s": "2",
        "max_upload_microusd": "0",
        "max_day_microusd": "0",
    }
    with LocalCloud(LocalCloudOptions(context=context)) as cloud:
        return _Soak(cloud, rows, kills, tell).run()


class _Soak:
    def __init__(self, cloud: LocalCloud, rows: int, kills: int, tell: Callable[[str], None]) -> None:
        names = {role: cloud.outputs[f"{role.capitalize()}FunctionName"] for role in ROLES}
        self._cloud = cloud
        self._processes = Processes(cloud.process_group, names)
        self._table = UploadsTable(cloud.resource("dynamodb").Table(cloud.outputs["ProspectsTableName"]))
        self._memory = Memory()
        self._soaked = Soaked(rows, kills)
        self._tell = tell
        self._upload_id = ""

    def run(self) -> Soaked:
        content, begun = "".join(leads(self._soaked.rows)).encode(), time.monotonic()
        bucket = self._cloud.outputs["UploadsBucketName"]
        self._cloud.client("s3").put_object(Bucket=bucket, Key="uploads/soak.csv", Body=content)
        deadline = begun + 120 + self._soaked.rows / _ROWS_A_SECOND_AT_LEAST
        sampled = 0.0
        while (upload := self._upload()) is None or upload.state != "done":
            if time.monotonic() > deadline:
                raise SoakError(f"not done after {time.monotonic() - begun:.0f} s: {self._standing(upload)}")
            if upload is not None and self._due(upload):
                self._kill()
            if time.monotonic() - sampled >= _SAMPLE_S:
                sampled = time.monotonic()
                self._sample(upload)
            time.sleep(_LOOK_S)
        self._soaked.seconds = time.monotonic() - begun
        return self._report(upload)

    def _upload(self) -> Upload | None:
        if not self._upload_id:
            self._upload_id = next((each.upload_id for each in self._table.open_uploads()), "")
        return self._table.get_upload(self._upload_id) if self._upload_id else None

    def _due(self, upload: Upload) -> bool:
        """The kills are spread over the rows: the first as soon as the upload is admitted."""
        done, wanted = len(self._soaked.kills_at), self._soaked.kills_wanted
        return done < wanted and _publishing(upload) and upload.checkpoint >= self._soaked.rows * done // wanted

    def _kill(self) -> None:
        seen: list[int] = []

        def still() -> bool:
            upload = self._upload()
            seen.append(upload.checkpoint if upload else 0)
            return upload is not None and _publishing(upload)

        if self._processes.kill_if("intake", still):
            self._soaked.kills_at.append(seen[-1])
            self._tell(f"intake killed at row {seen[-1]:,}")

    def _sample(self, upload: Upload | None) -> None:
        # Each request classified is a row ended; the exact count is for the end.
        ended = self._cloud.model_requests or 0
        self._memory.note(ended, self._processes.resident_mib())
        self._tell(f"{self._standing(upload)}, {ended:,} model requests")

    def _standing(self, upload: Upload | None) -> str:
        if upload is None:
            return "not admitted yet"
        return f"{upload.state}, published up to row {upload.checkpoint:,} of {upload.counts.records:,}"

    def _report(self, upload: Upload) -> Soaked:
        soaked, totals = self._soaked, _totals(self._cloud.metrics())
        rows = list(self._table.iter_rows(upload.upload_id))
        soaked.terminal = self._table.count_rows(upload.upload_id)
        soaked.classified = sum(row.outcome == "classified" for row in rows)
        soaked.row_numbers_once = [row.row_number for row in rows] == list(range(1, soaked.rows + 1))
        soaked.model_requests = self._cloud.model_requests or 0
        # One more event tells that the upload is finished.
        soaked.published_again = max(0, totals.get("PublishEventsEntryCount", 0) - soaked.rows - 1)
        soaked.redelivered = totals.get("RetryInvocationAttempts", 0)
        soaked.dead_letters = sum(self._cloud.dead_letters().values())
        for role in (SERVER, *ROLES):
            soaked.peaks_mib[role] = round(self._memory.peak(role), 1)
            soaked.slopes[role] = round(self._memory.slope(role), 3)
        return soaked


def _publishing(upload: Upload) -> bool:
    return upload.state == "running" and not upload.published and upload.publisher_until > time.time()


def _totals(metrics: list[dict[str, Any]]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for row in metrics:
        totals[row["name"]] = totals.get(row["name"], 0) + int(row["sum"])
    return totals


def _lines(soaked: Soaked) -> list[str]:
    kills = ", ".join(f"row {at:,}" for at in soaked.kills_at) or "never"
    memory = [
        f"  {role:12}{soaked.peaks_mib[role]:8.1f} MiB at most{soaked.slopes[role]:+9.3f} MiB a 1,000 rows"
        for role in soaked.peaks_mib
    ]
    return [
        f"rows in          {soaked.rows:>10,}",
        f"rows ended       {soaked.terminal:>10,}   classified {soaked.classified:,}",
        f"model requests   {soaked.model_requests:>10,}   duplicates {soaked.duplicates:,}",
        f"events again     {soaked.published_again:>10,}   deliveries repeated {soaked.redelivered:,}",
        f"dead letters     {soaked.dead_letters:>10,}",
        f"intake killed at {kills}",
        f"time             {soaked.seconds:>10.0f} s   {soaked.rows / soaked.seconds:.0f} rows a second",
        *(["memory, and its slope over the second half of the rows", *memory] if memory else []),
    ]


def _tell(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    soaked = soak(options.rows, options.kills, _tell)
    sys.stdout.write((json.dumps(asdict(soaked)) if options.json else "\n".join(_lines(soaked))) + "\n")
    for fault in soaked.faults:
        _tell(f"FAILED: {fault}")
    return 1 if soaked.faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
