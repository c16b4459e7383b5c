"""The approver on Lambda: the one function that may decide actions, and it cannot run any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from functions.refunds.adapters.approver import Approver
from functions.refunds.compose import build_approvals
from functions.refunds.handlers.wiring import telling

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

_approver = Approver(build_approvals(), telling("refund-approve"))


def handler(event: object, _context: LambdaContext) -> dict[str, Any]:
    """Raises RefundError."""
    return _approver(event)
