"""The naive stack as a CloudFormation template: queue, dead-letter queue, function, tables and one alarm. Data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from functions.classify.task import Task, build_task
from functions.settings import TaskSettings
from local.settings import ACCOUNT, REGION
from stacks.settings import Settings

Worker = Literal["stock", "bare"]
WORKERS: Sequence[Worker] = ("stock", "bare")

MAX_RECEIVES = 3
"""Receives before the dead-letter queue. The example of Powertools' batch utility takes 2, and AWS advises at least 5
(https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html), which would only repeat more requests."""
LONGEST_KEPT_S = 1_209_600
"""SQS keeps a message for 14 days at most."""
VISIBILITY_PER_TIMEOUT = 6
"""As AWS advises on the same page, and as in our stack."""

BATCH_SIZE = 1
"""The batch utility answers rows one after another, and `idempotent_function` awaits nothing. In a batch of ten, the
default, one slow row would spend the timeout and the receives of nine others: true on AWS, too, but not what is
compared here. As many rows are in flight as in our stack."""
FUNCTION, QUEUE, DEAD_LETTERS = "naive-worker", "naive-rows", "naive-dead-letters"
RESULTS, RECORDS = "naive-results", "naive-records"

_RECORDS_PERMISSIONS = ("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem")
_POLLING_PERMISSIONS = (
    "sqs:ReceiveMessage",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:ChangeMessageVisibility",
)


@dataclass(frozen=True)
class NaiveStack:
    """`worker` behind a queue, with the settings that our stack of the same context has."""

    worker: Worker
    settings: Settings
    code_bucket: str
    code_key: str
    visibility_per_timeout: float = VISIBILITY_PER_TIMEOUT

    def template(self) -> dict[str, Any]:
        outputs = {
            "QueueUrl": _ref("Queue"),
            "DeadLetterQueueUrl": _ref("DeadLetters"),
            "DeadLetterQueues": {"Fn::Sub": f"{DEAD_LETTERS}=${{DeadLetters}}"},
        }
        return {
            "Resources": {**self._tables(), **self._queues(), **self._function(), "Alarm": _dead_letters_alarm()},
            "Outputs": {name: {"Value": value} for name, value in outputs.items()},
        }

    def _tables(self) -> dict[str, Any]:
        tables = {"Results": _table(RESULTS, "row")}
        if self.worker == "stock":
            # https://docs.aws.amazon.com/powertools/python/latest/utilities/idempotency/, "Required resources"
            records = _table(RECORDS, "id")
            records["Properties"]["TimeToLiveSpecification"] = {"AttributeName": "expiration", "Enabled": True}
            tables["Records"] = records
        return tables

    def _queues(self) -> dict[str, Any]:
        work = {
            "QueueName": QUEUE,
            "VisibilityTimeout": round(self.visibility_per_timeout * self.settings.classify_timeout_s),
            "RedrivePolicy": {"deadLetterTargetArn": _attribute("DeadLetters"), "maxReceiveCount": MAX_RECEIVES},
        }
        dead_letters = {"QueueName": DEAD_LETTERS, "MessageRetentionPeriod": LONGEST_KEPT_S}
        return {
            "Queue": {"Type": "AWS::SQS::Queue", "Properties": work},
            "DeadLetters": {"Type": "AWS::SQS::Queue", "Properties": dead_letters},
        }

    def _function(self) -> dict[str, Any]:
        function = {
            "FunctionName": FUNCTION,
            "Runtime": "python3.13",
            "Architectures": ["arm64"],
            "Handler": f"worker.{self.worker}.handler",
            "Code": {"S3Bucket": self.code_bucket, "S3Key": self.code_key},
            "Role": _attribute("Role"),
            "Timeout": self.settings.classify_timeout_s,
            "MemorySize": self.settings.classify_memory_mb,
            "Environment": {"Variables": self._environment()},
        }
        mapping = {
            "EventSourceArn": _attribute("Queue"),
            "FunctionName": _ref("Function"),
            "BatchSize": BATCH_SIZE,
            "ScalingConfig": {"MaximumConcurrency": self.settings.requests_in_flight},
            "FunctionResponseTypes": ["ReportBatchItemFailures"],
        }
        return {
            "Role": self._role(),
            "Function": {"Type": "AWS::Lambda::Function", "Properties": function},
            "Mapping": {"Type": "AWS::Lambda::EventSourceMapping", "Properties": mapping},
        }

    def _environment(self) -> dict[str, Any]:
        variables: dict[str, Any] = {
            "TASK": task_of(self.settings).to_json(),
            "MODEL_DEADLINE_S": str(self.settings.model_deadline_s),
            "ANTHROPIC_SECRET_ID": self.settings.anthropic_secret_name,
            "RESULTS_TABLE": _ref("Results"),
            "POWERTOOLS_SERVICE_NAME": self.worker,
        }
        if self.worker == "stock":
            variables["IDEMPOTENCY_TABLE"] = _ref("Records")
        return variables

    def _role(self) -> dict[str, Any]:
        secret = f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:{self.settings.anthropic_secret_name}-*"
        statements = [
            _allow(_POLLING_PERMISSIONS, _attribute("Queue")),
            _allow(["dynamodb:PutItem"], _attribute("Results")),
            _allow(["secretsmanager:GetSecretValue"], secret),
        ]
        if self.worker == "stock":
            statements.append(_allow(_RECORDS_PERMISSIONS, _attribute("Records")))
        trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "lambda.amazonaws.com"}}
        return {
            "Type": "AWS::IAM::Role",
            "Properties": {
                "AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [trust]},
                "Policies": [
                    {"PolicyName": "worker", "PolicyDocument": {"Version": "2012-10-17", "Statement": statements}}
                ],
            },
        }


def task_of(settings: Settings) -> Task:
    """What our stack asks of the model with these settings."""
    return build_task(
        TaskSettings(
            model_id=settings.model_id, max_tokens=settings.max_tokens, rendered_columns=settings.rendered_columns
        )
    )


def _table(name: str, key: str) -> dict[str, Any]:
    return {
        "Type": "AWS::DynamoDB::Table",
        "Properties": {
            "TableName": name,
            "AttributeDefinitions": [{"AttributeName": key, "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": key, "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        },
    }


def _dead_letters_alarm() -> dict[str, Any]:
    """https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/dead-letter-queues-alarms-cloudwatch.html"""
    return {
        "Type": "AWS::CloudWatch::Alarm",
        "Properties": {
            "AlarmName": DEAD_LETTERS,
            "Namespace": "AWS/SQS",
            "MetricName": "ApproximateNumberOfMessagesVisible",
            "Dimensions": [{"Name": "QueueName", "Value": DEAD_LETTERS}],
            "Statistic": "Maximum",
            "Period": 60,
            "EvaluationPeriods": 1,
            "Threshold": 1,
            "ComparisonOperator": "GreaterThanOrEqualToThreshold",
            "TreatMissingData": "notBreaching",
        },
    }


def _allow(actions: Any, resource: Any) -> Mapping[str, Any]:
    return {"Effect": "Allow", "Action": list(actions), "Resource": resource}


def _attribute(name: str, attribute: str = "Arn") -> dict[str, Any]:
    return {"Fn::GetAtt": [name, attribute]}


def _ref(name: str) -> dict[str, str]:
    return {"Ref": name}
