"""Metrics that a function writes into its log: CloudWatch's embedded metric format."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from local.alarms.datapoints import Metric


def embedded_metrics(log: str) -> Iterator[tuple[Metric, float]]:
    """Every value, once for each set of dimensions that its line names. Lines that are no such JSON say nothing."""
    for line in log.splitlines():
        if '"_aws"' in line:
            yield from _of_line(line)


def _of_line(line: str) -> Iterator[tuple[Metric, float]]:
    try:
        written = json.loads(line)
    except ValueError:
        return
    if not isinstance(written, dict) or "_aws" not in written:
        return
    for directive in written["_aws"]["CloudWatchMetrics"]:
        for names in directive["Dimensions"]:
            dimensions = {name: str(written[name]) for name in names}
            for each in directive["Metrics"]:
                metric = Metric.of(directive["Namespace"], each["Name"], dimensions)
                for value in _values(written, each["Name"]):
                    yield metric, value


def _values(written: Mapping[str, Any], name: str) -> list[float]:
    found = written[name]
    return [float(each) for each in (found if isinstance(found, list) else [found])]
