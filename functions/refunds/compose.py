"""The refund use cases on the real tables and providers, as a function's environment describes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config

from functions.api_key import ApiKey
from functions.effects.claims import Claims
from functions.effects.resolve import Resolver
from functions.effects.table import EffectTable
from functions.refunds.approval import Approvals
from functions.refunds.asking import Asking
from functions.refunds.closing import Closing
from functions.refunds.effect import MAX_PAID_ATTEMPTS, SPARE_S, Providers, build_store, guard
from functions.refunds.ledger import Ledger
from functions.refunds.model import ProviderName
from functions.refunds.providers.ledger import LedgerProvider
from functions.refunds.providers.protocol import Provider
from functions.refunds.reconcile import Reconciler
from functions.refunds.refund import Refund
from functions.refunds.settings import ApprovalSettings, ReconcileSettings, RefundSettings

# Bounded, so that what follows an answer ends within the time that is kept for it.
AWS = Config(connect_timeout=1, read_timeout=3, retries={"mode": "standard", "total_max_attempts": 3})


Clients = Callable[[str], Any]
"""Makes boto3's client of a service, by its name."""


def _client(service: str) -> Any:
    return boto3.client(service, config=AWS)  # type: ignore[call-overload]  # by its name


def build_refund(environ: Mapping[str, str] | None = None) -> Refund:
    """Raises SettingsError, and IdempotencyDisabledError where Powertools would let every duplicate through."""
    return _parts(ReconcileSettings.from_env(environ)).refund


def build_reconciler(environ: Mapping[str, str] | None = None) -> Reconciler:
    """Raises as `build_refund` does."""
    settings = ReconcileSettings.from_env(environ)
    return reconciler_of(_parts(settings), settings)


def _parts(settings: ReconcileSettings) -> Parts:
    dynamodb = boto3.resource("dynamodb", config=AWS)
    ledger = Ledger(dynamodb.Table(settings.refund_ledger_table))
    return build_parts(ledger, dynamodb.Table(settings.idempotency_table), settings)


def build_approvals(environ: Mapping[str, str] | None = None) -> Approvals:
    """Raises SettingsError."""
    settings = ApprovalSettings.from_env(environ)
    ledger = Ledger(boto3.resource("dynamodb", config=AWS).Table(settings.refund_ledger_table))
    return Approvals(ledger, limits=settings.refund_limits)


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


def build_parts(ledger: Ledger, idempotency: Any, settings: ReconcileSettings, clients: Clients = _client) -> Parts:
    """`idempotency` is boto3's Table. Raises SettingsError for a Stripe address that no request can go to."""
    providers = providers_of(ledger, settings, clients)
    effects, closing = EffectTable(idempotency), Closing(ledger)
    resolver = Resolver(effects, retention_days=None)
    asking = Asking(providers, resolver, settle_s=settings.settle_s)
    guarded = guard(build_store(idempotency, settings), providers, provider_deadline_s=settings.provider_deadline_s)
    refund = Refund(ledger=ledger, guarded=guarded, closing=closing, asking=asking)
    claims = Claims(effects, max_paid_attempts=MAX_PAID_ATTEMPTS, retention_days=None)
    return Parts(ledger, effects, resolver, closing, asking, refund, claims)


def reconciler_of(parts: Parts, settings: ReconcileSettings) -> Reconciler:
    return Reconciler(
        ledger=parts.ledger,
        effects=parts.effects,
        claims=parts.claims,
        refund=parts.refund,
        asking=parts.asking,
        closing=parts.closing,
        abandoned_s=settings.abandoned_s,
        # A look and an attempt, each of which may take the provider's whole deadline.
        call_s=2 * settings.provider_deadline_s + SPARE_S,
    )


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
