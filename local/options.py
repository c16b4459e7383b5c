"""How a local cloud is run: what the caller asks for, and the settings of the stacks that are shorter here."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from local.claude.script import parse_script, read_script
from local.errors import GivenError
from local.faults.plan import HandlerPlan
from local.faults.rules import parse_rules
from local.payments.script import read_script as read_payments_script
from local.settings import ACCOUNT, REGION, ServerSettings

_REAL_CLAUDE = "https://api.anthropic.com"
_NO_KEY_NEEDED = "local-stand-in"
STRIPE_KEY = "sk_test_local"
"""The payment provider's stand-in asks for a key and takes any."""

_CONTEXT: Mapping[str, str] = {
    "bundle": "code",
    "ephemeral": "true",
    "region": REGION,
    "account": ACCOUNT,
    "alert_email": "alerts@local.invalid",
    "anthropic_secret_name": "prospect-uploader/anthropic",
    "stripe_secret_name": "prospect-uploader/stripe",
    "tick_s": "1",
    "intake_timeout_s": "60",
    "stop_before_timeout_s": "10",
    "classify_timeout_s": "25",
    "finish_timeout_s": "60",
    "lease_grace_s": "1",
    "max_receives": "5",
    "backoff_base_s": "0.5",
    "backoff_max_s": "2",
    "quiet_s": "3",
    "stall_s": "20",
    "object_sweep_s": "5",
    "object_grace_s": "5",
    # Nothing of a file's way needs it; a cloud that stays has it.
    "refunds": "false",
    "provider_deadline_s": "5",
    "refund_timeout_s": "20",
    "refund_queue_timeout_s": "30",
    "refund_settle_s": "2",
    "refund_abandoned_s": "5",
    "reconcile_timeout_s": "20",
}


@dataclass(frozen=True)
class LocalCloudOptions:
    """`port` 0 is any free one; `context` overrides settings of the stacks; times are seconds.

    `claude_script` is a file of rules for the stand-in, `claude_rules` are such rules; `service_faults` are rules of
    `local.faults.rules`, `handler_faults` a plan of `local.faults.plan`.
    `minute_s` is how long a minute of metrics and alarms lasts, as `tick_s` stands for the minute of the schedule.
    """

    port: int = 0
    claude_script: Path | None = None
    real_claude: bool = False
    payments_script: Path | None = None
    handlers: int = 2
    tick_s: float = 1.0
    minute_s: float = 2.0
    async_retry_s: float = 1.0
    context: Mapping[str, str] = field(default_factory=dict)
    claude_rules: Sequence[Mapping[str, Any]] = ()
    service_faults: Sequence[Mapping[str, Any]] = ()
    handler_faults: HandlerPlan | None = None

    def stack_context(self) -> dict[str, str]:
        """The context of the synth."""
        return {**_CONTEXT, **self.context}

    def claude_url(self, environ: Mapping[str, str] = os.environ) -> str | None:
        """Who answers instead of the stand-in: the caller's endpoint, or the real model when asked for, or nobody."""
        return environ.get("ANTHROPIC_BASE_URL") or (_REAL_CLAUDE if self.real_claude else None)

    def claude_key(self, environ: Mapping[str, str] = os.environ) -> str:
        """The key for the secret: the caller's own only where it may be needed. Raises `GivenError`."""
        if self.claude_url(environ) is None:
            return _NO_KEY_NEEDED
        key = environ.get("ANTHROPIC_API_KEY", "")
        if self.real_claude and not key:
            raise GivenError("The real Claude needs a key: set ANTHROPIC_API_KEY.")
        return key or _NO_KEY_NEEDED

    def server_settings(self) -> ServerSettings:
        """Raises `GivenError` for a script or a number that cannot be used."""
        url = self.claude_url()
        script = self._script()
        if (script or self.claude_script is not None) and url is not None:
            raise GivenError(f"A script is for the stand-in, but {url} answers; leave one of the two out.")
        self.claude_key()
        parse_rules(self.service_faults)
        payments = read_payments_script(self.payments_script) if self.payments_script is not None else {}
        try:
            return ServerSettings(
                token=secrets.token_hex(16),
                port=self.port,
                handlers=self.handlers,
                tick_s=self.tick_s,
                minute_s=self.minute_s,
                async_retry_s=self.async_retry_s,
                claude_script=script,
                claude_url=url,
                service_faults=list(self.service_faults),
                handler_faults=self.handler_faults,
                payments_script=payments,
            )
        except ValidationError as error:
            fault = error.errors()[0]
            raise GivenError(f"The local cloud cannot run with {fault['loc'][0]}: {fault['msg']}.") from None

    def _script(self) -> list[Any]:
        """Raises `ScriptError`."""
        if self.claude_script is not None:
            return read_script(self.claude_script)
        parse_script(list(self.claude_rules))
        return list(self.claude_rules)
