"""What goes wrong inside classify while its invocations succeed: told by its own metrics alone."""

from __future__ import annotations

from stacks.alarms import FailureMetric

CLASSIFY_FAILURES = (
    FailureMetric(
        metric="RowsUnknown",
        what="rows-unknown",
        failure="Rows ended as unknown: a request may have been billed and no answer was stored; none is sent again.",
        first='Read the reason in the log lines "unknown", and look at the provider\'s status page and usage for that '
        "minute before any row is allowed another attempt.",
    ),
    FailureMetric(
        metric="ModelRefusals",
        what="model-refusals",
        failure="The model refuses the account, and so every row: key, permission, model, billing or spend limit.",
        first='Read the reason in the log line "the model refuses every row of this upload" and mend that with the '
        "provider; nothing was billed.",
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
        first='Read the reason in the log lines "given_up"; where it is the rate, lower the setting requests_in_flight '
        "before the rows are sent again from classify-dlq.",
    ),
    FailureMetric(
        metric="RowErrors",
        what="row-errors",
        failure="classify failed on rows by itself: a bug, or DynamoDB or SQS that did not answer; the queue delivers "
        "them again.",
        first='Read error and at in the log lines "error"; if they go on, roll the last deployment back.',
    ),
)
