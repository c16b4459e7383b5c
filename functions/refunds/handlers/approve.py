"""The approver on Lambda: the one function that may decide actions, and it cannot run any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import boto3

from functions.refunds.adapters.approver import Approver
from functions.refunds.approval import Approvals
from functions.refunds.aws import AWS
from functions.refunds.handlers.wiring import telling
from functions.refunds.ledger import Ledger
from functions.refunds.settings import ApprovalSettings

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

_settings = ApprovalSettings.from_env()
_ledger = Ledger(boto3.resource("dynamodb", config=AWS).Table(_settings.refund_ledger_table))
_approver = Approver(Approvals(_ledger, limits=_settings.refund_limits), telling("refund-approve"))


def handler(event: object, _context: LambdaContext) -> dict[str, Any]:
    """Raises RefundError."""
    return _approver(event)
