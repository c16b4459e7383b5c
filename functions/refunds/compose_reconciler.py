"""The reconciler on the real tables and providers, as its function's environment describes them."""

from __future__ import annotations

from collections.abc import Mapping

from functions.refunds.compose import Parts, parts_from
from functions.refunds.effect import SPARE_S
from functions.refunds.reconcile import Reconciler
from functions.refunds.settings import ReconcileSettings


def build_reconciler(environ: Mapping[str, str] | None = None) -> Reconciler:
    """Raises SettingsError, and IdempotencyDisabledError where Powertools would let every duplicate through."""
    settings = ReconcileSettings.from_env(environ)
    return reconciler_of(parts_from(settings), settings)


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
