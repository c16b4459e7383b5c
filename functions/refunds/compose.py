"""The refund use cases on the real tables and providers, as a function's environment describes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import boto3
from botocore.config import Config

from functions.refunds.approval import Approvals
from functions.refunds.closing import Closing
from functions.refunds.effect import Providers, build_store, guard
from functions.refunds.ledger import Ledger
from functions.refunds.providers.ledger import LedgerProvider
from functions.refunds.refund import Refund
from functions.refunds.settings import ApprovalSettings, RefundSettings

# Bounded, so that what follows an answer ends within the time that is kept for it.
AWS = Config(connect_timeout=1, read_timeout=3, retries={"mode": "standard", "total_max_attempts": 3})


def build_refund(environ: Mapping[str, str] | None = None) -> Refund:
    """Raises SettingsError, and IdempotencyDisabledError where Powertools would let every duplicate through."""
    settings = RefundSettings.from_env(environ)
    dynamodb = boto3.resource("dynamodb", config=AWS)
    ledger = Ledger(dynamodb.Table(settings.refund_ledger_table))
    return refund_on(ledger, dynamodb.Table(settings.idempotency_table), settings, providers_of(ledger))


def build_approvals(environ: Mapping[str, str] | None = None) -> Approvals:
    """Raises SettingsError."""
    settings = ApprovalSettings.from_env(environ)
    ledger = Ledger(boto3.resource("dynamodb", config=AWS).Table(settings.refund_ledger_table))
    return Approvals(ledger, limits=settings.refund_limits)


def refund_on(ledger: Ledger, idempotency_table: Any, settings: RefundSettings, providers: Providers) -> Refund:
    store = build_store(idempotency_table, settings)
    guarded = guard(store, providers, provider_deadline_s=settings.provider_deadline_s)
    return Refund(ledger=ledger, guarded=guarded, closing=Closing(ledger))


def providers_of(ledger: Ledger) -> Providers:
    return {"ledger": LedgerProvider(ledger)}
