"""The Custom Event Bus: whether the Region has it, whether it delivers, and what its metrics are called."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import boto3

from cli.doctor.patient import Patient
from cli.doctor.report import Finding, not_meaningful, ok, problem, unknown

NAMESPACE = "AWS/EventsV2"
ALARMED = ("EventBus", "Subscriber")
"""The dimensions that the deployed alarms group by (a Metrics Insights schema takes exact names)."""
_MOST_VALUES = 3


def region_has_bus(patient: Patient) -> Finding:
    """AWS publishes no list; botocore's endpoints are the best there is, and may be behind."""
    if patient.local:
        return not_meaningful("the local cloud brings its own bus")
    region = patient.target.region
    known = boto3.Session(region_name=region).get_available_regions("eventbridgev2")
    if region in known:
        return ok(f"{region} is among the {len(known)} Regions that this version of boto3 knows with the bus")
    return unknown(
        f"{region} is not among the {len(known)} Regions that this version of boto3 knows with the bus",
        "The check of the bus itself decides; where it fails, deploy to another Region.",
    )


def bus_is_active(patient: Patient) -> Finding:
    bus = patient.client("eventbridgev2").describe_event_bus(EventBusArn=patient.output("EventBusArn"))
    days = bus.get("StorageConfiguration", {}).get("RetentionPeriodInDays", "?")
    if bus["State"] != "ACTIVE":
        return problem(f"the bus {bus['Name']} is {bus['State']}", "Wait for its end, or deploy again.")
    return ok(f"the bus {bus['Name']} is ACTIVE and keeps events for {days} days")


def subscriber_delivers(patient: Patient) -> Finding:
    events, sqs = patient.client("eventbridgev2"), patient.client("sqs")
    queue = sqs.get_queue_attributes(QueueUrl=patient.output("ClassifyQueueUrl"), AttributeNames=["QueueArn"])
    queue_arn = queue["Attributes"]["QueueArn"]
    subscribers = _subscribers(events, patient.output("EventBusArn"))
    to_queue = [each for each in subscribers if each.get("TargetArn") == queue_arn]
    if not to_queue:
        return problem(
            f"none of the {len(subscribers)} subscribers of the bus delivers to the classify queue",
            "Deploy again; until then no row reaches the queue.",
        )
    stopped = [each["Name"] for each in to_queue if each.get("State") != "RUNNING"]
    if stopped:
        return problem(f"the subscriber {stopped[0]} is not running", "Set its state to RUNNING, or deploy again.")
    return ok(f"the subscriber {to_queue[0]['Name']} is RUNNING and delivers to the classify queue")


def bus_metrics(patient: Patient) -> Finding:
    """Which dimensions and values AWS writes: documented once as ARNs and once as names (see docs/decisions.md)."""
    if patient.local:
        return not_meaningful("the local cloud writes these metrics itself, in the spelling that it was given")
    pages = patient.client("cloudwatch").get_paginator("list_metrics").paginate(Namespace=NAMESPACE)
    seen: dict[tuple[str, ...], set[str]] = defaultdict(set)
    values: dict[str, set[str]] = defaultdict(set)
    for metric in (metric for page in pages for metric in page["Metrics"]):
        names = tuple(sorted(dimension["Name"] for dimension in metric["Dimensions"]))
        seen[names].add(metric["MetricName"])
        for dimension in metric["Dimensions"]:
            values[dimension["Name"]].add(dimension["Value"])
    if not seen:
        return unknown(
            f"{NAMESPACE} has no metrics yet; they appear some 15 minutes after the first events",
            "Upload a file, wait, and run this again: only then it is known what the alarms of the bus see.",
        )
    told = "; ".join(f"{name}: {_spelled(found)}" for name, found in sorted(values.items()))
    if ALARMED not in seen:
        schemas = ", ".join("+".join(names) for names in sorted(seen))
        return problem(
            f"no metric of {NAMESPACE} has the dimensions {'+'.join(ALARMED)}, which the alarms of the bus need "
            f"(there are: {schemas}; {told})",
            "If events were delivered since yesterday, change the schema in stacks/observability.py to what is there.",
        )
    return ok(f"{len(seen[ALARMED])} metrics of {NAMESPACE} have the dimensions of the alarms; values seen: {told}")


def _spelled(values: set[str]) -> str:
    told = sorted(values)[:_MOST_VALUES]
    return ", ".join(told) + (f" and {len(values) - len(told)} more" if len(values) > len(told) else "")


def _subscribers(events: Any, bus_arn: str) -> list[Any]:
    found: list[Any] = []
    token: dict[str, str] = {}
    while True:
        page = events.list_subscribers(EventBusArn=bus_arn, **token)
        found += page["Subscribers"]
        if not page.get("NextToken"):
            return found
        token = {"NextToken": page["NextToken"]}
