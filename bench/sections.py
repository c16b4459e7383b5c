"""What is measured, section by section: each yields its lines as soon as it has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.bars import Line
from bench.child import Measured, measure
from bench.leads import write_leads
from bench.whole import bundle, demo_seconds

_MB = 1_000_000
ADMISSION = "admission: processor time, bare csv.reader passes"


@dataclass(frozen=True)
class Plan:
    """`rows` are read whole by all but frictionless and publishing, which get at most a sample."""

    rows: int
    scratch: Path
    peers: Path

    @property
    def frictionless_rows(self) -> int:
        return min(self.rows, 20_000)

    @property
    def published_rows(self) -> int:
        return min(self.rows, 100_000)

    @property
    def worked_rows(self) -> int:
        return min(self.rows, 300)


def admission(plan: Plan) -> Iterator[Line]:
    """Ratios of processor time, in turns: a machine that does something else meanwhile slows both alike."""
    path = plan.scratch / "leads.csv"
    size = write_leads(path, plan.rows)
    bare = [measure("bench.readers:bare", str(path))]
    ours = measure("bench.readers:admission", str(path))
    bare.append(measure("bench.readers:bare", str(path)))
    unit = median(one.cpu_s for one in bare)
    seconds = f"{ours.cpu_s:.1f} s against {unit:.2f} s; {ours.wall_s:.1f} s by the clock"
    note = f"{plan.rows:,} rows, {size / _MB:.0f} MB; {seconds}"
    yield Line(ADMISSION, ours.cpu_s / unit, "×", 15.0, note)
    yield Line("admission: peak memory above idle", ours.grown_mib, "MiB", 100.0, f"idle {ours.idle_mib:.0f} MiB")
    yield from _peers(plan, path, unit / plan.rows)
    path.unlink()
    yield from _publishing(plan, unit / plan.rows)


def _peers(plan: Plan, path: Path, unit_a_row: float) -> Iterator[Line]:
    if not plan.peers.exists():
        yield Line("peers: not installed, `make bench` does", 0)
        return
    frame = measure("bench.readers:pandas", str(path), python=plan.peers)
    yield from _peer("pandas.read_csv, which validates nothing", frame, plan.rows, unit_a_row)
    sample = plan.scratch / "sample.csv"
    write_leads(sample, plan.frictionless_rows)
    checked = measure("bench.readers:frictionless", str(sample), python=plan.peers)
    what = f"frictionless validating {plan.frictionless_rows:,} rows of it"
    yield from _peer(what, checked, plan.frictionless_rows, unit_a_row)
    sample.unlink()


def _peer(what: str, measured: Measured, rows: int, unit_a_row: float) -> Iterator[Line]:
    seconds = f"{measured.cpu_s:.1f} s; memory {measured.grown_mib:.0f} MiB above idle"
    yield Line(what, measured.cpu_s / rows / unit_a_row, "×", None, seconds)


def _publishing(plan: Plan, unit_a_row: float) -> Iterator[Line]:
    path = plan.scratch / "published.csv"
    write_leads(path, plan.published_rows)
    run = measure("bench.publishing:publishing", str(path))
    path.unlink()
    note = f"{plan.published_rows:,} rows, {run.cpu_s:.1f} s; bus and tables in memory"
    ratio = run.cpu_s / plan.published_rows / unit_a_row
    yield Line("publishing with key look-up (apart): processor time", ratio, "×", None, note)
    note = f"{run.found['put_events']:,} calls, {run.found['look_ups']:,} look-ups of 100 keys"
    yield Line(
        "PutEvents calls by what 100 entries and 1 MB allow",
        run.found["put_events"] / run.found["allowed"],
        "",
        1.0,
        note,
    )


def rows(plan: Plan) -> Iterator[Line]:
    """Of a file through the real workers on moto."""
    found = measure("bench.rows:counted", str(plan.worked_rows)).found
    yield Line("DynamoDB writes per classified row", found["writes"] / found["rows"], "", 3.0, f"{found['rows']} rows")
    yield Line("model requests per new row", found["requests"] / found["rows"], "", 1.0)
    yield Line("events and requests for a re-uploaded file", found["again"], "", 0.0)
    matrix = measure("bench.crash_matrix:crash_matrix", "").found
    note = f"{matrix['points']} kills at crash points by reply, {matrix['billed']} of {matrix['rows']} rows billed"
    yield Line("billed requests of one row, at most, over the crash matrix", matrix["worst"], "", 1.0, note)
    yield Line("rows of the crash matrix without an end", matrix["rows"] - matrix["ended"], "", 0.0)
    layer = measure("bench.rows:effect_layer", "").found
    alone = (
        f"{layer['ours_alone']:,.0f} µs against {layer['stock_alone']:,.0f} µs a call, without the emulator's own time"
    )
    yield Line(
        "effect layer: processor time, stock Powertools", layer["ours_alone"] / layer["stock_alone"], "×", 1.5, alone
    )
    whole = f"{layer['ours']:,.0f} µs against {layer['stock']:,.0f} µs"
    yield Line("  the same with moto, which parses every expression", layer["ours"] / layer["stock"], "×", None, whole)
    yield from _crossings(plan)


def _crossings(plan: Plan) -> Iterator[Line]:
    """Crash points stand in the code that ships; nobody may notice."""
    found = measure("bench.crossings:crossings", str(plan.worked_rows)).found
    unarmed = found["a_row"] * found["one_us"]
    note = f"{found['a_row']:.0f} crossings a row of {found['one_us']:.2f} µs, of {found['row_us']:,.0f} µs a row"
    yield Line("unarmed crash points: the worker's processor time", unarmed / found["row_us"] * 100, "%", 1.0, note)


def whole(plan: Plan) -> Iterator[Line]:
    """Of everything together."""
    built = bundle(plan.scratch)
    same = "built twice, the same bytes" if built["identical"] else "built twice, NOT the same bytes"
    yield Line("arm64 bundle, zipped", built["bytes"] / _MB, "MB", 20.0, same)
    yield Line("bundles that differ when built twice", 0 if built["identical"] else 1, "", 0.0)
    yield Line("make demo after installation", demo_seconds(), "s", 90.0)
