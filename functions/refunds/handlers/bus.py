"""The bus worker on Lambda: one event of the bus in, what became of it out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from functions.refunds.adapters.bus import BusWorker
from functions.refunds.adapters.paying import Paying
from functions.refunds.adapters.settings import BusSettings
from functions.refunds.compose import build_refund
from functions.refunds.handlers.wiring import deadline_of, telling

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

_told = telling("refund-bus")
_worker = BusWorker(Paying(build_refund().run, _told), _told, max_hops=BusSettings.from_env().max_hops)


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, object]:
    """Raises DeliverAgainError, which the bus retries."""
    return _worker.handle(event, deadline=deadline_of(context))
