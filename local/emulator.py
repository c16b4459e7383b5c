"""The private names of MiniStack that the local cloud relies on, checked once at start-up.

MiniStack has no plug-in hook and releases almost daily. It is pinned exactly; should the pin move, a name that is gone
is reported in one sentence instead of failing somewhere later.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from local.errors import LocalCloudError

_RELIED_ON: dict[str, tuple[str, ...]] = {
    "app": ("app",),
    "core.concurrency": ("esm_wake",),
    "core.responses": ("request_scope", "get_account_id", "get_region"),
    "core.iam_actions": ("dynamodb_service_context", "dynamodb_transaction_checks"),
    "core.iam_evaluator": (
        "EvalContext",
        "enforce",
        "evaluate",
        "evaluate_resource_policy",
        "_gather_role_policies",
        "pin_request_origin",
    ),
    "core.lambda_runtime": ("_PYTHON_WORKER_SCRIPT", "acquire_worker", "ensure_spawned", "release_worker", "reset"),
    "services.cloudformation.provisioners": ("_RESOURCE_HANDLERS", "_cw_metric_alarm_record"),
    "services.cloudwatch": (
        "_alarms",
        "_dispatch_alarm_actions",
        "_evaluate_alarm",
        "_evaluate_parent_alarms",
        "_record_history",
        "_store_datum",
        "record_metric",
    ),
    "services.dynamodb": ("_tables",),
    "services.eventbridge": (
        "_rules",
        "_targets",
        "_compiled_pattern",
        "_matches_detail",
        "_dispatch_event",
        "_dispatch_to_lambda",
        "_invoke_target",
        "_parse_pattern_text",
        "_pattern_event_view",
        "_scheduler_loop",
    ),
    "services.lambda_svc": (
        "_esms",
        "_functions",
        "_execute_function",
        "_execute_function_dispatch",
        "_execute_function_with_config_scope",
        "_emit_lambda_metrics",
        "_execution_record_for_config",
        "_get_func_record_for_ref",
        "_invoke_depth",
        "_sqs_esm_concurrency",
        "invoke_async_with_retry",
    ),
    "services.s3": ("_fire_s3_event",),
    "services.sns": ("_fanout",),
    "services.sqs": (
        "_Err",
        "_act_send_message",
        "_delete_messages_for_esm",
        "_queue_by_arn",
        "_queues",
        "_receive_messages_for_esm",
    ),
    "services.stepfunctions": ("_fail_execution",),
    "services.sts": ("_sessions",),
}


@dataclass(frozen=True)
class Emulator:
    """MiniStack's modules. They are untyped, so every value that comes out of them is `Any`."""

    app: Any
    concurrency: Any
    responses: Any
    actions: Any
    iam: Any
    runtime: Any
    provisioners: Any
    cloudwatch: Any
    dynamodb: Any
    eventbridge: Any
    functions: Any
    s3: Any
    sns: Any
    sqs: Any
    machines: Any
    sts: Any


def load_emulator() -> Emulator:
    """Import MiniStack and check the names above; raises `LocalCloudError` naming the first one that is missing."""
    modules = []
    for name, relied_on in _RELIED_ON.items():
        try:
            module = importlib.import_module(f"ministack.{name}")
        except ImportError as error:
            raise LocalCloudError(f"MiniStack cannot be used: its module {name} does not load ({error}).") from error
        for wanted in relied_on:
            if not hasattr(module, wanted):
                raise LocalCloudError(
                    f"This MiniStack has no {name}.{wanted}, which the local cloud needs; install the pinned version."
                )
        modules.append(module)
    return Emulator(*modules)
