"""Whether a service or a role may do what a delivery needs: AWS fails such a delivery, MiniStack lets it through."""

from __future__ import annotations

from typing import Any

from local.emulator import Emulator


class Permissions:
    """Answers from the roles and resource policies that were deployed."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator

    def role_may(self, role_arn: str, action: str, resource_arn: str) -> bool:
        """Whether the identity policies of the role allow `action` on the resource."""
        account, name = role_arn.split(":")[4], role_arn.rsplit("/", 1)[-1]
        iam = self._emulator.iam
        context = iam.EvalContext(
            principal_arn=role_arn,
            principal_type="AssumedRole",
            principal_account=account,
            action=action,
            resource_arn=resource_arn,
            region=resource_arn.split(":")[3],
        )
        return bool(iam.evaluate(context, iam._gather_role_policies(name, account)).decision == "Allow")

    def role_of(self, access_key: str) -> str | None:
        """The ARN of the role whose session signs with this key; None for the account itself."""
        session = self._session(access_key)
        if not session:
            return None
        _, _, _, _, account, resource = session.split(":", 5)
        return f"arn:aws:iam::{account}:role/{resource.split('/')[1]}"

    def function_of(self, access_key: str) -> str:
        """The name of the function whose session signs with this key, as Lambda names sessions; empty for others."""
        return self._session(access_key).rpartition("/")[2]

    def service_may(self, service: str, action: str, resource_arn: str, policy: Any, source_arn: str) -> bool:
        """Whether a resource policy (JSON text or object) lets an AWS service act for `source_arn`."""
        if not policy:
            return False
        iam = self._emulator.iam
        account = source_arn.split(":")[4]
        context = iam.EvalContext(
            principal_arn="*",
            principal_type="Service",
            principal_account="",
            action=action,
            resource_arn=resource_arn,
            region=resource_arn.split(":")[3],
            service_context={"aws:sourcearn": source_arn, "aws:sourceaccount": account},
        )
        return bool(iam.evaluate_resource_policy(policy, context, service=service).decision == "Allow")

    def _session(self, access_key: str) -> str:
        """The ARN of a role's session; empty for the account itself."""
        return str((self._emulator.sts._sessions.get(access_key) or {}).get("Arn", ""))
