"""The reconciler on Lambda: one pass per invocation by its schedule; the event itself says nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from functions.refunds.adapters.schedule import Pass
from functions.refunds.adapters.settings import PassSettings
from functions.refunds.compose_reconciler import build_reconciler
from functions.refunds.handlers.wiring import deadline_of, telling

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

_pass = Pass(build_reconciler(), telling("refund-reconcile"), unknown_alarm_s=PassSettings.from_env().unknown_alarm_s)


def handler(_event: dict[str, Any], context: LambdaContext) -> dict[str, int]:
    """Raises PassFailedError where some could not be looked at."""
    return _pass.run(deadline=deadline_of(context))
