"""Which IAM action on which resource a call of boto3 needs."""

from __future__ import annotations

from collections.abc import Iterator

from tests.calls import Call, Reach, Source

SECRET = "arn:<name>:secretsmanager:<name>:<name>:secret:prospect-uploader/{}-??????"
TABLES = {
    "functions.effects": "Idempotency",
    "functions.uploads": "Prospects",
    "functions.refunds": "RefundLedger",
}
"""The table that the modules of a folder work on."""

INDEXES = {"ATTENTION_INDEX": "<name>/index/attention", "OPEN_INDEX": "<name>/index/open-actions"}
BY_INDEX_ALONE = {"functions.refunds.plumbing"}
"""What queries the index that its caller names, and never the table."""

PREFIXES = {"functions.intake.source": "<name>/uploads/*", "functions.finish.storage": "<name>/results/*"}
QUEUES = {
    "functions.classify.queues": {"self._queue_url": "ClassifyQueue", "self._dlq_url": "ClassifyDlq"},
    "functions.finish.work_queue": {"self._queue_url": "ClassifyQueue"},
    "functions.refunds.adapters.inbox": {"self._queue_url": "Queue", "self._dlq_url": "QueueDlq"},
}
"""By the module that works on them, and by what it gives as QueueUrl."""

TABLE_ACTIONS = {
    "get_item": "GetItem",
    "batch_get_item": "BatchGetItem",
    "put_item": "PutItem",
    "update_item": "UpdateItem",
    "delete_item": "DeleteItem",
    "query": "Query",
}
IN_TRANSACTIONS = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
}
OBJECT_ACTIONS = {
    "put_object": "PutObject",
    "create_multipart_upload": "PutObject",
    "upload_part": "PutObject",
    "complete_multipart_upload": "PutObject",
    "abort_multipart_upload": "AbortMultipartUpload",
}
QUEUE_ACTIONS = {
    "send_message": "SendMessage",
    "change_message_visibility": "ChangeMessageVisibility",
    "get_queue_attributes": "GetQueueAttributes",
}
OTHERS = {
    "put_events": ("events:PutEvents Bus",),
    "publish": ("sns:Publish Alerts", "kms:Decrypt AlertsKey", "kms:GenerateDataKey AlertsKey"),
    "list_object_versions": ("s3:ListBucketVersions Uploads",),
    "invoke": ("lambda:InvokeFunction IntakeFunction",),
}
"""Of calls that are about one resource wherever they are."""


def called_by(source: Source, handler: str) -> set[str]:
    """What a handler's module can call, each as "action resource". KeyError: a call nobody has mapped yet."""
    reach = Reach(source, handler)
    found = {action for call in reach.calls() for action in _needed_by(call, handler)}
    for name, kinds in reach.transaction_kinds().items():
        found |= {f"dynamodb:{IN_TRANSACTIONS[kind]} {_table(name)}" for kind in kinds}
    return found | {f"dynamodb:Query {INDEXES[index]}" for index in reach.arguments_named("IndexName")}


def _table(module: str) -> str:
    return TABLES[module.rpartition(".")[0]]


def _needed_by(call: Call, handler: str) -> Iterator[str]:
    if call.operation == "transact_write_items":
        # Allowed by the actions it consists of.
        return
    if call.operation == "query" and call.module in BY_INDEX_ALONE:
        return
    if call.operation in TABLE_ACTIONS:
        yield f"dynamodb:{TABLE_ACTIONS[call.operation]} {_table(call.module)}"
    elif call.operation in ("get_object", "head_object"):
        yield from (f"s3:{action} {PREFIXES[call.module]}" for action in _reading(call.arguments))
    elif call.operation in OBJECT_ACTIONS:
        yield f"s3:{OBJECT_ACTIONS[call.operation]} {PREFIXES[call.module]}"
    elif call.operation in QUEUE_ACTIONS:
        queue = next(queue for url, queue in QUEUES[call.module].items() if f"QueueUrl={url}" in call.arguments)
        yield f"sqs:{QUEUE_ACTIONS[call.operation]} {queue}"
    elif call.operation == "get_secret_value":
        yield f"secretsmanager:GetSecretValue {SECRET.format('stripe' if '.refunds.' in handler else 'anthropic')}"
    else:
        yield from OTHERS[call.operation]


def _reading(arguments: str) -> tuple[str, ...]:
    """With a version S3 asks for the one action, without it for the other; `**named` may hold one or not."""
    if "VersionId=" in arguments:
        return ("GetObjectVersion",)
    return ("GetObject", "GetObjectVersion") if "**" in arguments else ("GetObject",)
