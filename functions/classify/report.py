"""What the worker says of a batch: log lines and metrics of ids, codes and counts, never of a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from functions.classify.results import Ending, Result

METRIC_OF: dict[Ending, str] = {
    "classified": "RowsClassified",
    "failed": "RowsFailed",
    "given_up": "RowsGivenUp",
    "unknown": "RowsUnknown",
    "repeated": "RowsRepeated",
    "retry": "RowsReleased",
    "in_progress": "RowsInProgress",
    "copied": "RowsCopied",
    "held": "RowsHeld",
    "stopped": "EventsStopped",
    "malformed": "EventsMalformed",
    "error": "RowErrors",
}
NOT_RUNNING = "EventsOfClosedBudgets"
"""Counts the stopped events whose upload is not running. A pause stops many of them, and was alerted itself."""
_CLOSED = "budget_closed"
_QUIET: frozenset[Ending] = frozenset({"classified", "repeated", "in_progress"})


class Report:
    """Logs every ending that is not the plain one, and counts all of them."""

    def __init__(self, logger: Logger, metrics: Metrics) -> None:
        self._logger = logger
        self._metrics = metrics

    def publish(self, results: Sequence[Result], request_id: str) -> None:
        self._count(results)
        for result in results:
            if result.ending not in _QUIET or result.error:
                self._log(result, request_id)
        for upload_id, reason in sorted({(result.upload_id, result.reason) for result in results if result.pauses}):
            self._model_refuses_the_account(upload_id, reason, request_id)

    def _count(self, results: Sequence[Result]) -> None:
        self._metrics.add_metric("RowsReceived", MetricUnit.Count, len(results))
        for name, number in Counter(map(_metric_of, results)).items():
            self._metrics.add_metric(name, MetricUnit.Count, number)
        self._metrics.add_metric("CostMicrousd", MetricUnit.Count, sum(result.cost_microusd for result in results))

    def _log(self, result: Result, request_id: str) -> None:
        level = self._logger.error if result.error else self._logger.info
        level(
            result.ending,
            extra={
                "request_id": request_id,
                "upload_id": result.upload_id,
                "row_number": result.row_number,
                "reason": result.reason,
                **(result.error or {}),
            },
        )

    def _model_refuses_the_account(self, upload_id: str, reason: str, request_id: str) -> None:
        # The one place, once a batch and upload, that knows of a wrong key, permission, model, billing or limit.
        self._metrics.add_metric("ModelRefusals", MetricUnit.Count, 1)
        self._logger.error(
            "the model refuses every row of this upload",
            extra={"request_id": request_id, "upload_id": upload_id, "reason": reason},
        )


def _metric_of(result: Result) -> str:
    if result.ending == "stopped" and result.reason == _CLOSED:
        return NOT_RUNNING
    return METRIC_OF[result.ending]
