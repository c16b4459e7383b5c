"""What goes wrong inside a worker while its invocations succeed: told by its own metrics alone."""

from __future__ import annotations

from stacks.alarms import FailureMetric, Words

CLASSIFY_FAILURES = (
    FailureMetric(
        metric="RowsUnknown",
        what="rows-unknown",
        failure="Rows ended as unknown: a request may have been billed and no answer was stored; none is sent again.",
        first="Run prospects unknown list, look at the provider's status page and usage for that minute, and settle "
        "the rows with prospects unknown resolve; docs/runbook.md says how to decide.",
    ),
    FailureMetric(
        metric="ModelRefusals",
        what="model-refusals",
        failure="The model refuses the account (key, permission, model, billing, usage or spend limit), hence every "
        "row: the upload is paused, its rows stay open, nothing is paid.",
        first="Read the reason with prospects status or in the log line about every row of this upload, mend that with "
        "the provider, then prospects resume.",
    ),
    FailureMetric(
        metric="EventsStopped",
        what="events-stopped",
        failure="A guard stopped events that came back to their own sender or went through too many agents: a loop.",
        first='Read the reason and the upload in the log lines "stopped", and stop the consumer that answers with '
        "the event type it listens to.",
    ),
    FailureMetric(
        metric="EventsMalformed",
        what="events-malformed",
        failure="Events on the bus are no rows of ours: another sender, or a sender of another version.",
        first="Read the bodies in classify-dlq with the reason malformed_event, and find out who sends them.",
    ),
    FailureMetric(
        metric="RowsGivenUp",
        what="rows-given-up",
        failure="Rows failed on the last receive without being billed: the model was overloaded, limited the rate or "
        "could not be reached for too long.",
        first='Read the reason in the log lines "given_up"; where it is the rate, lower the setting '
        "requests_in_flight. Then prospects retry; sending the messages again changes nothing.",
    ),
    FailureMetric(
        metric="RowsFailed",
        what="rows-failed",
        failure="Rows ended as failed by what the model answered (the row refused, no label, an unreadable answer) or "
        "because their key names another payload; none is asked again.",
        first="Read the reasons with prospects failures: each says what to do. The payloads are in classify-dlq.",
    ),
    FailureMetric(
        metric="RowErrors",
        what="row-errors",
        failure="classify failed on rows by itself: a bug, or DynamoDB or SQS that did not answer; the queue delivers "
        "them again.",
        first='Read error and at in the log lines "error"; if they go on, roll the last deployment back.',
    ),
)

INTAKE_FAILURES = (
    FailureMetric(
        metric="DayCeilingReached",
        what="day-ceiling-reached",
        failure="The day's ceiling is reached: an upload waits for approval because its worst case does not fit under "
        "max_day_microusd beside what is reserved or spent since midnight UTC.",
        first="See its price with prospects approve, which asks before it goes over the ceiling. Raise the setting if "
        "days like this are meant.",
    ),
)

FINISH_FAILURES = (
    FailureMetric(
        metric="RowsGivenUp",
        what="rows-given-up",
        failure="The sweep gave rows up: published again max_sweeps times they still had no outcome, and ended as "
        "failed without being billed.",
        first="Read the alarms and the dead-letter queues of classify of the last hours: something keeps it from "
        "answering. Mend that, then prospects retry.",
    ),
)

TICK_FAILED = Words(
    "A tick of finish failed: at least one open upload could not be looked at, or the tick itself ended in a timeout "
    "or a kill; nothing finishes, is swept or is told for these uploads meanwhile.",
    'Read the log lines "a look failed" of that minute for the upload and the error. The next tick tries again, so a '
    "single failure needs nothing; roll the last deployment back if every tick fails.",
)
"""What an error of finish means."""
