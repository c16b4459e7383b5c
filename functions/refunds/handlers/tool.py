"""The refund tool on Lambda: a request in, an answer or a typed error out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from functions.refunds.adapters.direct import Direct, by_gateway
from functions.refunds.adapters.paying import Paying
from functions.refunds.compose import build_refund
from functions.refunds.handlers.wiring import deadline_of, telling

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

_direct = Direct(Paying(build_refund().run, telling("refund-tool")))


def handler(event: object, context: LambdaContext) -> dict[str, Any]:
    """Raises RefundError, but answers a gateway with it."""
    return _direct(event, deadline=deadline_of(context), by_gateway=by_gateway(context))
