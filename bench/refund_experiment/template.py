"""One tool's stack as a CloudFormation template of its own: the tool, every way to call it, its tables. Data.

On an account and on the local cloud alike. Nothing has a name of its own, so several can stand side by side, and
nothing is kept when the stack goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.refund_experiment.injections import BATCH, CALLS, QUEUES
from bench.refund_experiment.resources import allow, arn, ledger, log, ref, role, sub, table
from bench.refund_experiment.timers import Timers
from bench.refund_experiment.variants import Tool
from functions.refunds.ledger import OPEN_INDEX

MEMORY_MB = 512
RECEIVES = 5
NAIVE_HANDLERS = {"tool": "handler", "partial": "partial", "whole": "whole", "loop": "loop"}
OUR_HANDLERS = {"tool": "worker.ours_tool.handler", "partial": "worker.ours_queue.handler"}
"""Ours has one handler for queues; its second queue's mapping only lacks ReportBatchItemFailures."""
RECONCILE_S = 60
_WRITES = ("GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query")
_READS_QUEUE = ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes", "ChangeMessageVisibility")


def queues_of(tool: Tool) -> Sequence[str]:
    """The ways of batches that a tool has."""
    return [way for way in QUEUES if not (tool.is_ours and way == "loop")]


@dataclass(frozen=True)
class ExperimentStack:
    """`stripe_secret`: where ours finds a Stripe key; empty: it cannot pay there."""

    tool: Tool
    timers: Timers
    code_bucket: str
    code_key: str
    stripe_secret: str = ""

    def template(self) -> dict[str, Any]:
        functions = self._functions()
        resources = {**self._tables(), "Log": log(), "Role": self._role(), **functions, **self._workflow()}
        for way in queues_of(self.tool):
            resources |= self._queue(way)
        outputs = {
            **{f"{each}Table": ref(each) for each in self._tables()},
            **{f"{each}FunctionName": ref(each) for each in functions},
            **{f"{way.title()}QueueUrl": ref(f"{way.title()}Queue") for way in queues_of(self.tool)},
            "StateMachineArn": ref("Workflow"),
        }
        return {
            "Description": f"The refund experiment: {self.tool.name}. It may be deleted at any time.",
            "Resources": resources,
            "Outputs": {name: {"Value": value} for name, value in outputs.items()},
        }

    def _tables(self) -> dict[str, Any]:
        tables = {"Faults": table("request_id"), "Rows": ledger() if self.tool.is_ours else table("row_id")}
        if self.tool.keeps_records:
            tables["Records"] = table("id", expires="" if self.tool.is_ours else "expiration")
        return tables

    def _functions(self) -> dict[str, Any]:
        seconds = self.timers.function_s
        functions = {"Tool": self._function(self._handler("tool"), seconds)}
        for way in queues_of(self.tool):
            name = way.title()
            more = {
                "REFUND_QUEUE_URL": ref(f"{name}Queue"),
                "REFUND_DLQ_URL": ref(f"{name}Dlq"),
                "REFUND_MAX_RECEIVES": str(RECEIVES),
            }
            functions[name] = self._function(self._handler(way), seconds, more if self.tool.is_ours else {})
        if self.tool.is_ours:
            functions["Reconcile"] = self._function("functions.refunds.handlers.reconcile.handler", RECONCILE_S)
        return functions

    def _handler(self, way: str) -> str:
        if self.tool.is_ours:
            return OUR_HANDLERS.get(way, OUR_HANDLERS["partial"])
        return f"worker.naive.{NAIVE_HANDLERS[way]}"

    def _function(self, handler: str, seconds: int, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
        properties = {
            "Runtime": "python3.13",
            "Architectures": ["arm64"],
            "Handler": handler,
            "Code": {"S3Bucket": self.code_bucket, "S3Key": self.code_key},
            "Role": arn("Role"),
            "Timeout": seconds,
            "MemorySize": MEMORY_MB,
            "LoggingConfig": {"LogGroup": ref("Log")},
            "Environment": {"Variables": {**self._environment(), **(more or {})}},
        }
        return {"Type": "AWS::Lambda::Function", "Properties": properties}

    def _environment(self) -> dict[str, Any]:
        common = {
            "FAULTS_TABLE": ref("Faults"),
            "POWERTOOLS_SERVICE_NAME": self.tool.name,
            "POWERTOOLS_METRICS_NAMESPACE": "refund-experiment",
        }
        if self.tool.switches is not None:
            records = {"RECORDS_TABLE": ref("Records")} if self.tool.keeps_records else {}
            return {**common, **self.tool.switches, "ROWS_TABLE": ref("Rows"), **records}
        return {
            **common,
            "REFUND_LEDGER_TABLE": ref("Rows"),
            "IDEMPOTENCY_TABLE": ref("Records"),
            "STRIPE_SECRET_ID": self.stripe_secret,
            "PROVIDER_DEADLINE_S": f"{self.timers.provider_s}",
            "LEASE_GRACE_S": "1",
            # The experiment waits for passes of its own, and for nothing else.
            "SETTLE_S": "1",
            "ABANDONED_S": "1",
        }

    def _role(self) -> dict[str, Any]:
        tables = [arn(name) for name in self._tables()]
        if self.tool.is_ours:
            tables.append(sub(f"${{Rows.Arn}}/index/{OPEN_INDEX}"))
        statements = [
            allow("dynamodb", _WRITES, tables),
            allow("logs", ("CreateLogStream", "PutLogEvents"), [arn("Log")]),
        ]
        for way in queues_of(self.tool):
            statements.append(allow("sqs", _READS_QUEUE, [arn(f"{way.title()}Queue")]))
            statements.append(allow("sqs", ("SendMessage",), [arn(f"{way.title()}Dlq")]))
        if self.stripe_secret:
            # Secrets Manager ends every secret's ARN with a hyphen and six characters of its own.
            place = "${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}"
            secret = f"arn:{place}:secret:{self.stripe_secret}-*"
            statements.append(allow("secretsmanager", ("GetSecretValue",), [sub(secret)]))
        return role("lambda.amazonaws.com", statements)

    def _queue(self, way: str) -> dict[str, Any]:
        name = way.title()
        mapping = {
            "EventSourceArn": arn(f"{name}Queue"),
            "FunctionName": ref(name),
            "BatchSize": BATCH,
            # So that a batch is more likely to come whole; a standard queue does not promise it.
            "MaximumBatchingWindowInSeconds": 1,
            **({"FunctionResponseTypes": ["ReportBatchItemFailures"]} if way == "partial" else {}),
        }
        queue = {
            "VisibilityTimeout": self.timers.hidden_s,
            "RedrivePolicy": {"deadLetterTargetArn": arn(f"{name}Dlq"), "maxReceiveCount": RECEIVES},
        }
        return {
            f"{name}Dlq": {"Type": "AWS::SQS::Queue"},
            f"{name}Queue": {"Type": "AWS::SQS::Queue", "Properties": queue},
            f"{name}Mapping": {"Type": "AWS::Lambda::EventSourceMapping", "Properties": mapping},
        }

    def _workflow(self) -> dict[str, Any]:
        """The payment task with a timeout shorter than the tool and a retrier: what nobody should deploy."""
        again = {"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": CALLS - 1, "BackoffRate": 1.0}
        task = {
            "Type": "Task",
            "Resource": arn("Tool"),
            "TimeoutSeconds": self.timers.waits_s,
            "Retry": [again],
            "End": True,
        }
        machine = {
            "StateMachineType": "STANDARD",
            "RoleArn": arn("WorkflowRole"),
            "Definition": {"StartAt": "Pay", "States": {"Pay": task}},
        }
        invoke = allow("lambda", ("InvokeFunction",), [arn("Tool")])
        return {
            "WorkflowRole": role("states.amazonaws.com", [invoke]),
            "Workflow": {"Type": "AWS::StepFunctions::StateMachine", "Properties": machine},
        }
