"""Whether somebody hears: the subscription of the alerts topic and the alarms."""

from __future__ import annotations

from typing import Any

from cli.doctor.patient import Patient
from cli.doctor.report import Finding, not_meaningful, ok, problem

STACKS_WITH_ALARMS = ("Classification", "Observability")
_PENDING = "PendingConfirmation"
_MOST_NAMED = 5


def alerts_reach_somebody(patient: Patient) -> Finding:
    if patient.local:
        return not_meaningful("nothing is mailed; `prospects local outbox` shows what would have been")
    pages = patient.client("sns").get_paginator("list_subscriptions_by_topic")
    topic = patient.output("AlertsTopicArn")
    found = [each for page in pages.paginate(TopicArn=topic) for each in page["Subscriptions"]]
    if not found:
        return problem(
            "nobody subscribes to the alerts topic, so no alarm and no summary reaches anybody",
            "Deploy with -c alert_email=you@example.com, and confirm the mail that comes.",
        )
    pending = sum(each["SubscriptionArn"] == _PENDING for each in found)
    if pending:
        return problem(
            f"{pending} of {len(found)} subscriptions of the alerts topic are not confirmed",
            "Follow the link in the mail «AWS Notification - Subscription Confirmation» (it lasts for two days).",
        )
    return ok(f"{len(found)} confirmed subscriptions of the alerts topic")


def alarms_are_set(patient: Patient) -> Finding:
    name = patient.target.name
    wanted = set(_deployed_alarms(patient.client("cloudformation"), name))
    pages = patient.client("cloudwatch").get_paginator("describe_alarms").paginate(AlarmNamePrefix=f"{name}-")
    alarms = [alarm for page in pages for alarm in page["MetricAlarms"] if alarm["AlarmName"] in wanted]
    missing = sorted(wanted - {alarm["AlarmName"] for alarm in alarms})
    if missing:
        return problem(f"alarms are gone: {_named(missing)}", "Deploy again.")
    if not alarms:
        return problem("the stacks have no alarm", "Deploy all stacks: `cdk deploy --all`.")
    silent = sorted(alarm["AlarmName"] for alarm in alarms if not alarm["ActionsEnabled"] or not alarm["AlarmActions"])
    if silent:
        return problem(f"alarms tell nobody: {_named(silent)}", "Enable their actions, or deploy again.")
    ringing = sorted(alarm["AlarmName"] for alarm in alarms if alarm["StateValue"] == "ALARM")
    if ringing:
        return problem(f"in alarm: {_named(ringing)}", "docs/alarms.md says for each what to do first.")
    without = sum(alarm["StateValue"] == "INSUFFICIENT_DATA" for alarm in alarms)
    return ok(
        f"{len(alarms)} alarms, none in alarm"
        + (f", {without} without data yet (missing data is health)" * bool(without))
    )


def _deployed_alarms(cloudformation: Any, name: str) -> list[str]:
    return [
        resource["PhysicalResourceId"]
        for part in STACKS_WITH_ALARMS
        for page in cloudformation.get_paginator("list_stack_resources").paginate(StackName=f"{name}{part}")
        for resource in page["StackResourceSummaries"]
        if resource["ResourceType"] == "AWS::CloudWatch::Alarm" and resource.get("PhysicalResourceId")
    ]


def _named(names: list[str]) -> str:
    return ", ".join(names[:_MOST_NAMED]) + (f" and {len(names) - _MOST_NAMED} more" * (len(names) > _MOST_NAMED))
