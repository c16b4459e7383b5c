"""What the refund functions may do: whoever executes cannot approve, and whoever approves cannot execute.

Both work on items of one table, so their statements name items: the leading keys say which, and for an update the
attributes too. A test on the templates, and one on the local cloud, hold this.
"""

from __future__ import annotations

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

from stacks.permissions import Items, allow
from stacks.settings import Settings
from stacks.storage import OPEN_INDEX, Storage

ACTIONS, ORDERS, REFUNDS = "action:*", "order:*", "refund:*"
"""Keys of the ledger's items; a refund's record in the idempotency table has the key of its row."""

CLOSING = ("row_id", "state", "result", "closed_at", "open")
"""All that executing changes of an action. The decision is none of them: a role that has these cannot approve."""

COMMITMENT = ("row_id", "committed_minor")
"""All of an order that changes: what an approval commits, and a refund that finally failed returns."""


def executing_statements(settings: Settings, storage: Storage, stack: Stack) -> list[iam.PolicyStatement]:
    """Run what was approved: read the decision, keep the record of the effect, write the refund, close the action."""
    ledger = storage.refund_ledger.table_arn
    return [
        Items(storage.idempotency.table_arn, REFUNDS).may("GetItem", "PutItem", "UpdateItem"),
        Items(ledger, ACTIONS).may("GetItem"),
        Items(ledger, REFUNDS).may("GetItem", "PutItem"),
        Items(ledger, ACTIONS).may("UpdateItem", attributes=CLOSING),
        Items(ledger, ORDERS).may("UpdateItem", attributes=COMMITMENT),
        _key_of_stripe(settings, stack),
    ]


def reconciling_statements(settings: Settings, storage: Storage, stack: Stack) -> list[iam.PolicyStatement]:
    """The same, and find what is open."""
    index = f"{storage.refund_ledger.table_arn}/index/{OPEN_INDEX}"
    return [*executing_statements(settings, storage, stack), allow(["dynamodb:Query"], index)]


def approving_statements(storage: Storage) -> list[iam.PolicyStatement]:
    """Decide actions and commit their amounts; neither a record of an effect nor a refund."""
    ledger = storage.refund_ledger.table_arn
    return [
        Items(ledger, ACTIONS).may("GetItem", "PutItem"),
        Items(ledger, ORDERS).may("GetItem"),
        Items(ledger, ORDERS).may("UpdateItem", attributes=COMMITMENT),
    ]


def _key_of_stripe(settings: Settings, stack: Stack) -> iam.PolicyStatement:
    # Secrets Manager ends every secret's ARN with a hyphen and six characters of its own.
    name = f"secret:{settings.stripe_secret_name}-??????"
    arn = f"arn:{stack.partition}:secretsmanager:{stack.region}:{stack.account}:{name}"
    return allow(["secretsmanager:GetSecretValue"], arn)
