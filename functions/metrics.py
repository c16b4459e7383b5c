"""What a worker counts of its own work: a line of CloudWatch's embedded metric format in its log.

The namespace is the deployment's (POWERTOOLS_METRICS_NAMESPACE), the one dimension the worker's name. Names and numbers
only, never an id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit

Count = Callable[[Mapping[str, int]], None]
"""Takes numbers by the name of their metric."""


def write_counts(service: str, counts: Mapping[str, int]) -> None:
    """Write what is not 0: the alarms take no data for health."""
    counted = {name: number for name, number in counts.items() if number}
    if not counted:
        return
    metrics = Metrics(service=service)
    for name, number in counted.items():
        metrics.add_metric(name, MetricUnit.Count, number)
    metrics.flush_metrics()


def uncounted(_counts: Mapping[str, int]) -> None:
    """For a worker that runs where nobody collects its metrics."""
