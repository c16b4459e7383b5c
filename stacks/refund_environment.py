"""The environment variables of the refund functions: the upper-case names of the fields of their settings.

A test holds the two together. What a way to call needs beside these comes from its delivery.
"""

from __future__ import annotations

from stacks.settings import Settings
from stacks.storage import Storage


def executing_environment(settings: Settings, storage: Storage) -> dict[str, str]:
    """Of every function that runs what was approved."""
    api_base = {"STRIPE_API_BASE": settings.stripe_api_base} if settings.stripe_api_base else {}
    return {
        "REFUND_LEDGER_TABLE": storage.refund_ledger.table_name,
        "IDEMPOTENCY_TABLE": storage.idempotency.table_name,
        "STRIPE_SECRET_ID": settings.stripe_secret_name,
        "STRIPE_KEYS_RETENTION_S": f"{settings.stripe_keys_retention_s}",
        "SETTLE_S": f"{settings.refund_settle_s}",
        "PROVIDER_DEADLINE_S": f"{settings.provider_deadline_s}",
        "LEASE_GRACE_S": f"{settings.lease_grace_s}",
        **api_base,
    }


def reconciling_environment(settings: Settings, storage: Storage) -> dict[str, str]:
    return {
        **executing_environment(settings, storage),
        "ABANDONED_S": f"{settings.refund_abandoned_s}",
        "UNKNOWN_ALARM_S": f"{settings.refund_unknown_alarm_s}",
    }


def approving_environment(settings: Settings, storage: Storage) -> dict[str, str]:
    return {
        "REFUND_LEDGER_TABLE": storage.refund_ledger.table_name,
        "REFUND_LIMITS": settings.refund_limits,
    }
