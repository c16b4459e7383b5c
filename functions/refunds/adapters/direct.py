"""Called directly: by whoever may invoke the function, by a state machine, or by an AgentCore gateway as its target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from functions.refunds.adapters.paying import Paying, refusal
from functions.refunds.errors import RefundError

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

GATEWAY_TOOL = "bedrockAgentCoreToolName"
"""What a gateway puts into the client context of every call (AgentCore developer guide, "Lambda function targets")."""


class Direct:
    """Answers with a status; a refusal is an error of the invocation, but to a gateway a result that a model reads."""

    def __init__(self, paying: Paying) -> None:
        self._paying = paying

    def __call__(self, event: object, *, deadline: float, by_gateway: bool) -> dict[str, Any]:
        """Raises RefundError; Lambda reports its class as `errorType` and its sentence as `errorMessage`."""
        try:
            return self._paying(event, deadline=deadline).to_json()
        except RefundError as error:
            if not by_gateway:
                raise
            return refusal(error.code, str(error))


def by_gateway(context: LambdaContext) -> bool:
    """Whether a gateway is calling; its event is the map of the input schema's properties, as everybody's is."""
    client: Any = getattr(context, "client_context", None)
    return GATEWAY_TOOL in (getattr(client, "custom", None) or {})
