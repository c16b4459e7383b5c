"""Dashboards as code: what the business asks of a day, and what an operator asks of the services and of refunds.

The business's reads the functions' own metrics alone, so it needs no resource's name. Bus metrics are Metrics Insights
queries, for the reason that `stacks/bus_metrics.py` gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from stacks.alarms import MINUTE, own_metric
from stacks.bus_metrics import over_all_subscribers
from stacks.worker import Worker

HOUR = Duration.hours(1)

FULL = 24
"""Columns of a dashboard."""

Counted = Mapping[str, tuple[str, str]]
"""Label -> the worker that counts it, and its metric's name."""

UPLOADS: Counted = {
    "admitted": ("intake", "UploadsAdmitted"),
    "waiting for approval": ("intake", "UploadsWaiting"),
    "refused": ("intake", "UploadsRefused"),
    "paused": ("finish", "UploadsPaused"),
    "finished": ("finish", "UploadsFinished"),
}
ROWS: Counted = {
    "classified": ("classify", "RowsClassified"),
    "failed": ("classify", "RowsFailed"),
    "given up after the last receive": ("classify", "RowsGivenUp"),
    "given up by the sweep": ("finish", "RowsGivenUp"),
    "unknown": ("classify", "RowsUnknown"),
}
WORK: Counted = {
    "answered from the store": ("classify", "RowsRepeated"),
    "to be tried again": ("classify", "RowsReleased"),
    "somebody else is at": ("classify", "RowsInProgress"),
    "swept": ("finish", "RowsSwept"),
    "errors": ("classify", "RowErrors"),
}
REFUNDS: Counted = {
    f"{label}, {worker.removeprefix('refund-')}": (worker, metric)
    for worker in ("refund-tool", "refund-queue", "refund-bus", "refund-reconcile")
    for label, metric in (
        ("paid", "RefundsDone"),
        ("paid before", "RefundsRepeated"),
        ("failed", "RefundsFailed"),
        ("unknown", "RefundsUnknown"),
    )
}
DELIVERIES = ("EventsDelivered", "RetryInvocationAttempts", "OnFailureDestinationDelivered", "EventsDropped")


def business_dashboard(scope: Construct, deployment: str) -> None:
    """`<deployment>-business`: uploads, rows by outcome and cost, of the last week unless another time is chosen."""
    board = _dashboard(scope, "Business", f"{deployment}-business", Duration.days(7))
    board.add_widgets(
        _numbers("Uploads in the time shown", _own(deployment, UPLOADS, HOUR), width=10),
        _numbers("Rows in the time shown", _own(deployment, ROWS, HOUR), width=10),
        _numbers("Cost", [_cost(deployment, HOUR)], width=4),
    )
    board.add_widgets(
        _graph("Uploads", _own(deployment, UPLOADS, HOUR)), _graph("Rows by outcome", _own(deployment, ROWS, HOUR))
    )
    needs_a_person = {
        "rows unknown": ROWS["unknown"],
        "uploads paused": UPLOADS["paused"],
        "uploads waiting for approval": UPLOADS["waiting for approval"],
    }
    board.add_widgets(
        _graph("Cost", [_cost(deployment, HOUR)]), _graph("Needs a person", _own(deployment, needs_a_person, HOUR))
    )


def services_dashboard(scope: Construct, deployment: str, workers: Sequence[Worker]) -> None:
    """`<deployment>-services`: what is red, queues, functions, the bus, dead letters; three hours by the minute."""
    board = _dashboard(scope, "Services", f"{deployment}-services", Duration.hours(3))
    _add_services(board, workers, [])
    board.add_widgets(
        _graph("Deliveries of the bus", [over_all_subscribers(metric) for metric in DELIVERIES]),
        _graph("Age of the bus's backlog (ms)", [over_all_subscribers("ApproximateBacklogAge", "MAX")]),
    )
    board.add_widgets(_dead_letters(workers), _graph("Rows at work", _own(deployment, WORK, MINUTE)))


def refunds_dashboard(
    scope: Construct, deployment: str, workers: Sequence[Worker], alarms: Sequence[cloudwatch.IAlarm]
) -> None:
    """`<deployment>-refunds`: the same of the refund functions, and what refunds came to; `alarms` are further ones."""
    board = _dashboard(scope, "Refunds", f"{deployment}-refunds", Duration.hours(3))
    _add_services(board, workers, alarms)
    board.add_widgets(_dead_letters(workers), _graph("Refunds", _own(deployment, REFUNDS, MINUTE)))


def _add_services(board: cloudwatch.Dashboard, workers: Sequence[Worker], further: Sequence[cloudwatch.IAlarm]) -> None:
    alarms = [*(alarm for worker in workers for alarm in worker.alarms), *further]
    board.add_widgets(cloudwatch.AlarmStatusWidget(title="Alarms of the workers", alarms=alarms, width=FULL, height=5))
    queues = {worker.name: worker.work_queue for worker in workers if worker.work_queue is not None}
    board.add_widgets(
        _graph("Age of the oldest message (s)", [_age(name, queue) for name, queue in queues.items()]),
        _graph("Messages", [metric for name, queue in queues.items() for metric in _load(name, queue)]),
    )
    board.add_widgets(
        *(
            _graph(title, [_of_function(worker, metric, statistic) for worker in workers], width=FULL // 4)
            for title, metric, statistic in (
                ("Errors", "Errors", "Sum"),
                ("Throttles", "Throttles", "Sum"),
                ("Longest invocation (ms)", "Duration", "Maximum"),
                ("Invocations at once", "ConcurrentExecutions", "Maximum"),
            )
        )
    )


def _dead_letters(workers: Sequence[Worker]) -> cloudwatch.GraphWidget:
    dead = {name: queue for worker in workers for name, queue in worker.dead_letters.items()}
    return _graph("Dead letters", [_waiting(name, queue) for name, queue in dead.items()])


def _dashboard(scope: Construct, construct_id: str, name: str, shown: Duration) -> cloudwatch.Dashboard:
    return cloudwatch.Dashboard(scope, construct_id, dashboard_name=name, default_interval=shown)


def _graph(title: str, metrics: Sequence[cloudwatch.IMetric], *, width: int = FULL // 2) -> cloudwatch.GraphWidget:
    """Of metrics that state their own period and statistic."""
    axis = cloudwatch.YAxisProps(min=0, show_units=False)
    return cloudwatch.GraphWidget(title=title, left=list(metrics), left_y_axis=axis, width=width, height=6)


def _numbers(title: str, metrics: Sequence[cloudwatch.IMetric], *, width: int) -> cloudwatch.SingleValueWidget:
    """Summed over the time that is shown: the latest value of a metric that is seldom written may be days old."""
    return cloudwatch.SingleValueWidget(
        title=title, metrics=list(metrics), set_period_to_time_range=True, width=width, height=4
    )


def _own(deployment: str, counted: Counted, period: Duration) -> list[cloudwatch.IMetric]:
    return [
        own_metric(deployment, worker, metric).with_(label=label, period=period)
        for label, (worker, metric) in counted.items()
    ]


def _cost(deployment: str, period: Duration) -> cloudwatch.IMetric:
    """Counted in whole micro-dollars, shown in dollars."""
    spent = own_metric(deployment, "classify", "CostMicrousd")
    return cloudwatch.MathExpression(
        expression="spent / 1000000", using_metrics={"spent": spent}, period=period, label="USD"
    )


def _age(name: str, queue: sqs.IQueue) -> cloudwatch.IMetric:
    return queue.metric_approximate_age_of_oldest_message(label=name, period=MINUTE, statistic="Maximum")


def _waiting(label: str, queue: sqs.IQueue) -> cloudwatch.IMetric:
    return queue.metric_approximate_number_of_messages_visible(label=label, period=MINUTE, statistic="Maximum")


def _load(name: str, queue: sqs.IQueue) -> Iterator[cloudwatch.IMetric]:
    yield _waiting(f"{name}: waiting", queue)
    yield queue.metric_approximate_number_of_messages_not_visible(
        label=f"{name}: in flight", period=MINUTE, statistic="Maximum"
    )
    yield queue.metric_approximate_number_of_messages_delayed(
        label=f"{name}: delayed", period=MINUTE, statistic="Maximum"
    )


def _of_function(worker: Worker, metric: str, statistic: str) -> cloudwatch.IMetric:
    return worker.function.metric(metric, label=worker.name, period=MINUTE, statistic=statistic)
