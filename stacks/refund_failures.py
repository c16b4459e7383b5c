"""What goes wrong with refunds while invocations succeed, and what an error of each refund function means."""

from __future__ import annotations

from stacks.alarms import FailureMetric, Words

TOOL, QUEUE, BUS = "refund-tool", "refund-queue", "refund-bus"
RECONCILE, APPROVE = "refund-reconcile", "refund-approve"


def _key_reused(worker: str) -> FailureMetric:
    return FailureMetric(
        metric="KeysReused",
        what="keys-reused",
        failure=f"{worker} was asked to refund another order, amount or currency under a request_id that is taken: "
        "the request was refused, nothing was paid.",
        first='Read the request_id in the log lines "KeysReused" and compare prospects refund status with what the '
        "caller meant; a model may have written a request_id that its host did not replace.",
    )


def _failed(worker: str) -> FailureMetric:
    return FailureMetric(
        metric="RefundsFailed",
        what="refunds-failed",
        failure=f"A refund that {worker} ran was refused by the payment provider for good; what it had committed of "
        "its order is free again.",
        first='Read the reason in the log lines "RefundsFailed" and with prospects refund status; the customer has '
        "nothing yet, and another try takes a new approval.",
    )


TOOL_FAILURES = (_key_reused(TOOL), _failed(TOOL))

QUEUE_FAILURES = (
    _key_reused(QUEUE),
    _failed(QUEUE),
    FailureMetric(
        metric="RefundsRefused",
        what="refunds-refused",
        failure="Messages asked for refunds that nobody approved, that were denied, that this deployment cannot pay, "
        "or that are no refunds: nothing was paid, and they are not delivered again.",
        first='Read the reason in the log lines "RefundsRefused"; the messages are in refund-queue-dlq. Find out who '
        "sends them.",
    ),
    FailureMetric(
        metric="MessagesGivenUp",
        what="messages-given-up",
        failure="refund-queue could not settle messages on their last receive: the provider did not begin the refund, "
        "somebody else was at it, or refund-queue failed each time.",
        first='Read the reason in the log lines "RefundsNotStarted" or the error in "RefundErrors", and mend that. An '
        "approved refund stays open and is the reconciler's: see prospects refund list before anything is sent again.",
    ),
    FailureMetric(
        metric="RefundErrors",
        what="errors-of-records",
        failure="refund-queue failed on messages by itself: a bug, or DynamoDB or SQS that did not answer; the queue "
        "delivers them again.",
        first='Read error in the log lines "RefundErrors"; if they go on, roll the last deployment back.',
    ),
)

BUS_FAILURES = (
    _key_reused(BUS),
    _failed(BUS),
    FailureMetric(
        metric="RefundsRefused",
        what="refunds-refused",
        failure="Events asked for refunds that nobody approved, that were denied, or that are no refunds: nothing was "
        "paid, and they are not delivered again.",
        first='Read the reason in the log lines "RefundsRefused" and find out who sends such events.',
    ),
    FailureMetric(
        metric="EventsMalformed",
        what="events-malformed",
        failure="Events of the type refund.requested on the bus are none: another sender, or a sender of another "
        "version.",
        first='Read event_id in the log lines "EventsMalformed" and find the event in the bus\'s retention.',
    ),
    FailureMetric(
        metric="EventsStopped",
        what="events-stopped",
        failure="A guard stopped refund events that came back to their own sender or went through too many agents: a "
        "loop.",
        first='Read the reason in the log lines "EventsStopped", and stop the agent that answers with the event type '
        "it listens to.",
    ),
)

RECONCILE_FAILURES = (
    FailureMetric(
        metric="RefundsNotBegun",
        what="refunds-not-begun",
        failure="The reconciler tried to run approved refunds that were still open, and the provider would not begin "
        "them (its key, the account, its rate limit); nothing was paid.",
        first='Read the reason in the log lines "RefundsNotBegun" and mend that; the next pass tries again.',
    ),
    FailureMetric(
        metric="RefundsFailed",
        what="refunds-failed",
        failure="A refund that the reconciler ran was refused by the payment provider for good; what it had committed "
        "of its order is free again.",
        first='Read the reason in the log lines "RefundsFailed"; the customer has nothing yet, and another try takes '
        "a new approval.",
    ),
    FailureMetric(
        metric="PassesCut",
        what="passes-cut",
        failure="A pass of the reconciler ended for want of time before it had looked at every open refund.",
        first="See prospects refund list; where the provider answers slowly or not at all wait for it, otherwise raise "
        "reconcile_timeout_s.",
    ),
    FailureMetric(
        metric="RefundsUnknownTooLong",
        what="refunds-unknown",
        failure="Refunds have been unknown for longer than refund_unknown_alarm_s: nobody could tell yet whether the "
        "money moved, and they are not sent again.",
        first="See prospects refund list, look each of them up with the payment provider by its request_id, and settle "
        "it with prospects refund resolve.",
    ),
)

TOOL_ERROR = Words(
    "A call of the refund tool ended in an error: it was refused and nothing was paid, or the function failed.",
    "Read errorType where it was called or in its log: NotApprovedError, DeniedError, KeyReusedError and "
    "InvalidRequestError are refusals; after any other error ask prospects refund status before anything is sent "
    "again.",
)
BUS_ERROR = Words(
    "refund-bus ended an invocation with an error: the refund is at work elsewhere or could not be begun, and the bus "
    "delivers the event again; or the function failed.",
    "Nothing, where its refund is settled a little later; otherwise read the last lines of its log at that minute.",
)
APPROVE_ERROR = Words(
    "The approver refused what it was asked to decide (no such order, more than was paid, a request_id that is taken), "
    "or it failed; nothing was approved.",
    "Read errorType and its sentence where it was called or in its log.",
)
RECONCILE_ERROR = Words(
    "A pass of the reconciler failed: open refunds were not looked at, or the pass ended in a timeout or a kill; "
    "unknown refunds stay unknown meanwhile.",
    "Read its log at that minute. The next pass tries again, so a single failure needs nothing; if every pass fails, "
    "roll the last deployment back.",
)
"""What an error of each function means."""

TOOL_LOST = (
    "See prospects refund list: an approved refund that is still open is the reconciler's, and what was refused paid "
    "nothing."
)
APPROVE_LOST = "Nothing was approved by the lost call; whoever asked for it may ask again under the same request_id."
"""What to do about a failed asynchronous call that no queue kept."""

WORKFLOW_FAILED = Words(
    "An execution of the refund workflow failed: the refund was refused, failed for good or is unknown; the workflow "
    "does not retry it.",
    "Read the error of the execution, whose name is the request_id; an unknown one is the reconciler's, and every "
    "other one needs a decision.",
)
