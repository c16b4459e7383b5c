"""What brings events to the functions, and where those end that could not be brought."""

from __future__ import annotations

import json

from cli.doctor.patient import Patient
from cli.doctor.report import Finding, not_meaningful, ok, problem

OTHERS = 3
"""Concurrent executions beside classify: intake, finish, and one to spare."""


def bucket_sends_events(patient: Patient) -> Finding:
    bucket = patient.output("UploadsBucketName")
    switched = patient.client("s3").get_bucket_notification_configuration(Bucket=bucket)
    if "EventBridgeConfiguration" not in switched:
        return problem(f"the bucket {bucket} does not send events to EventBridge", "Deploy the storage stack again.")
    return ok(f"the bucket {bucket} sends its events to EventBridge")


def redrive_matches(patient: Patient) -> Finding:
    """The function ends a row on what it takes for the last receive; the queue must agree on which that is."""
    sqs, environment = patient.client("sqs"), patient.environment("ClassifyFunctionName")
    found = sqs.get_queue_attributes(QueueUrl=patient.output("ClassifyQueueUrl"), AttributeNames=["RedrivePolicy"])
    policy = json.loads(found.get("Attributes", {}).get("RedrivePolicy") or "{}")
    receives, wanted = str(policy.get("maxReceiveCount", "none")), environment.get("MAX_RECEIVES", "none")
    if receives != wanted:
        return problem(
            f"the classify queue gives up after {receives} receives, the function after {wanted}",
            "Deploy again, and change max_receives only as a setting.",
        )
    dead_letters = sqs.get_queue_attributes(
        QueueUrl=environment.get("CLASSIFY_DLQ_URL", ""), AttributeNames=["QueueArn"]
    )
    if policy.get("deadLetterTargetArn") != dead_letters["Attributes"]["QueueArn"]:
        return problem(
            "the classify queue moves messages to a queue that is not its dead-letter queue", "Deploy again."
        )
    return ok(f"queue and function both give a row up at receive {receives}")


def dead_letters_empty(patient: Patient) -> Finding:
    depths = patient.target.cloud.dead_letters()
    waiting = {name: count for name, count in depths.items() if count}
    if waiting:
        told = ", ".join(f"{count} in {name}" for name, count in waiting.items())
        return problem(f"dead letters: {told}", "docs/alarms.md says for each queue what to read first.")
    return ok(f"all {len(depths)} dead-letter queues are empty")


def concurrency_suffices(patient: Patient) -> Finding:
    """A new account may have a quota of 10, and Lambda then throttles what the setting allows."""
    if patient.local:
        return not_meaningful("the local cloud runs a fixed number of handlers and has no quota")
    client = patient.client("lambda")
    limit = client.get_account_settings()["AccountLimit"]
    mappings = client.list_event_source_mappings(FunctionName=patient.output("ClassifyFunctionName"))
    most = sum(each.get("ScalingConfig", {}).get("MaximumConcurrency", 0) for each in mappings["EventSourceMappings"])
    quota, free = limit["ConcurrentExecutions"], limit["UnreservedConcurrentExecutions"]
    if free < most + OTHERS:
        return problem(
            f"Lambda may run {quota} executions at once here ({free} unreserved), classify alone may use {most}",
            "Have the quota «Concurrent executions» raised, or lower requests_in_flight.",
        )
    return ok(f"Lambda may run {quota} executions at once here ({free} unreserved); classify uses {most} at most")
