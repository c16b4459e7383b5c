"""The summary of a finished upload, as plain text for an e-mail: numbers, reason codes and where the results are.

The file is named, for the people who uploaded it; nothing that stood in it is told. Pure.
"""

from __future__ import annotations

from functions.finish.tally import Tally
from functions.text import one_line
from functions.uploads.model import Announcement, Upload

MAX_SUBJECT = 100
"""SNS takes fewer than 100 ASCII characters as the subject of an e-mail; numbers and words, so it is ASCII."""
MAX_REASONS = 20


def usd(microusd: int) -> str:
    """Integer micro-dollars as dollars, exactly."""
    return f"{microusd // 1_000_000}.{microusd % 1_000_000:06d} USD"


def announcement(upload: Upload, tally: Tally, results_at: str) -> Announcement:
    """What is told of the revision that is being finished. `results_at` is the address of the results."""
    rows = tally.row_counts()
    subject = f"Prospects done: {rows.classified} classified, {rows.failed} failed, {rows.unknown} unknown"
    text = "\n".join(
        [
            *_numbers(upload, tally),
            "",
            f"Results: {one_line(results_at)}",
            f"Fetch them:  prospects results {upload.upload_id}",
            *_reasons(tally),
            *_unknown(rows.unknown),
        ]
    )
    serial = f"finished-{upload.revision + 1}"
    return Announcement(kind="finished", serial=serial, subject=subject[: MAX_SUBJECT - 1], text=text + "\n")


def _numbers(upload: Upload, tally: Tally) -> list[str]:
    counts, rows = upload.counts, tally.row_counts()
    labels = ", ".join(f"{label} {count}" for label, count in sorted(tally.labels.items()))
    return [
        f"Upload {upload.upload_id} is done"
        + (f" (revision {upload.revision + 1} of its results)." if upload.revision else "."),
        f"File: {one_line(upload.object_key)}",
        "",
        _line("Records in the file", counts.records),
        _line("  valid", counts.valid),
        _line("    classified", rows.classified) + (f"  ({labels})" if labels else ""),
        _line("    failed", rows.failed),
        _line("    unknown", rows.unknown),
        _line("  rejected", counts.rejected),
        _line("  duplicate", counts.duplicates),
        _line("  blank", counts.blank),
        "",
        f"Answered from stored outcomes, without a request: {rows.known}",
        f"Cost: {usd(rows.cost_microusd)}",
        *([f"May have been billed besides, at most: {usd(rows.in_doubt_microusd)}"] if rows.in_doubt_microusd else []),
    ]


def _reasons(tally: Tally) -> list[str]:
    if not tally.reasons:
        return []
    told = tally.reasons.most_common(MAX_REASONS)
    lines = ["", "Rows without a label, by reason:"]
    lines += [f"  {count:>9,}  {outcome}: {reason}" for (outcome, reason), count in told]
    if len(told) < len(tally.reasons):
        lines.append(f"  and {len(tally.reasons) - len(told)} further reasons")
    lines += ["", "The first of them:"]
    return lines + [
        f"  record {number}, line {line}: {outcome}: {reason}" for number, line, outcome, reason in tally.first_rows
    ]


def _unknown(unknown: int) -> list[str]:
    if not unknown:
        return []
    return [
        "",
        "Unknown means that a request may have been billed and no answer was stored. Such a row is not sent again; it",
        "waits for proof or for an operator.",
    ]


def _line(name: str, count: int) -> str:
    return f"{name:<24}{count:>9,}"
