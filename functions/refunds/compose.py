"""The refund use case on the real tables and providers, as a function's environment describes them.

The reconciler is put together elsewhere: what only pays loads nothing of it, and needs no permission of its.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import boto3

from functions.api_key import ApiKey
from functions.effects.claims import Claims
from functions.effects.resolve import Resolver
from functions.effects.table import EffectTable
from functions.refunds.asking import Asking
from functions.refunds.aws import AWS
from functions.refunds.closing import Closing
from functions.refunds.effect import MAX_PAID_ATTEMPTS, Providers, build_store, guard
from functions.refunds.ledger import Ledger
from functions.refunds.model import ProviderName
from functions.refunds.providers.ledger import LedgerProvider
from functions.refunds.providers.protocol import Provider
from functions.refunds.refund import Refund
from functions.refunds.settings import RefundSettings

Clients = Callable[[str], Any]
"""Makes boto3's client of a service, by its name."""


def _client(service: str) -> Any:
    return boto3.client(service, config=AWS)  # type: ignore[call-overload]  # by its name


def build_refund(environ: Mapping[str, str] | None = None) -> Refund:
    """Raises SettingsError, and IdempotencyDisabledError where Powertools would let every duplicate through."""
    return parts_from(RefundSettings.from_env(environ)).refund


def parts_from(settings: RefundSettings) -> Parts:
    """On the tables that the settings name."""
    dynamodb = boto3.resource("dynamodb", config=AWS)
    ledger = Ledger(dynamodb.Table(settings.refund_ledger_table))
    return build_parts(ledger, dynamodb.Table(settings.idempotency_table), settings)


@dataclass(frozen=True, slots=True)
class Parts:
    """What every use case that executes or settles refunds is made of."""

    ledger: Ledger
    effects: EffectTable
    resolver: Resolver
    closing: Closing
    asking: Asking
    refund: Refund
    claims: Claims


def build_parts(ledger: Ledger, idempotency: Any, settings: RefundSettings, clients: Clients = _client) -> Parts:
    """`idempotency` is boto3's Table. Raises SettingsError for a Stripe address that no request can go to."""
    providers = providers_of(ledger, settings, clients)
    effects, closing = EffectTable(idempotency), Closing(ledger)
    resolver = Resolver(effects, retention_days=None)
    asking = Asking(providers, resolver, settle_s=settings.settle_s)
    guarded = guard(build_store(idempotency, settings), providers, provider_deadline_s=settings.provider_deadline_s)
    refund = Refund(ledger=ledger, guarded=guarded, closing=closing, asking=asking)
    claims = Claims(effects, max_paid_attempts=MAX_PAID_ATTEMPTS, retention_days=None)
    return Parts(ledger, effects, resolver, closing, asking, refund, claims)


def providers_of(ledger: Ledger, settings: RefundSettings, clients: Clients = _client) -> Providers:
    """The ledger always, Stripe where the settings name the secret with its key."""
    providers: dict[ProviderName, Provider] = {"ledger": LedgerProvider(ledger)}
    if settings.stripe_secret_id:
        # Imported only where it is paid with.
        from functions.refunds.providers.stripe import StripeProvider  # noqa: PLC0415

        providers["stripe"] = StripeProvider(
            ApiKey(clients("secretsmanager"), settings.stripe_secret_id),
            api_base=settings.stripe_api_base,
            deadline_s=settings.provider_deadline_s,
            keys_retention_s=settings.stripe_keys_retention_s,
        )
    return providers
