"""Our ledger after a run: settled by passes of the deployed reconciler, then read as an auditor would."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence, Set

from bench.refund_experiment.requests import Asked
from bench.refund_experiment.watching import ExperimentError, Watch, scanned
from cli.cloud import Cloud
from functions.refunds.ledger import Ledger

_REFUND = "refund:"


class OurLedger:
    def __init__(self, cloud: Cloud, watch: Watch) -> None:
        self._cloud = cloud
        self._watch = watch
        self._ledger = Ledger(cloud.resource("dynamodb").Table(cloud.outputs["RowsTable"]))

    def settle(self, actions: Sequence[Asked]) -> tuple[str, ...]:
        """Passes until none of these is open; returns what is not as a refund that happened once must be."""
        wanted = {asked.request_id for asked in actions}
        self._watch.until("every approved action is closed", lambda: self._open_before_a_pass(wanted))
        amiss = []
        for asked in actions:
            request = asked.request
            action, order = self._ledger.get_action(request.request_id), self._ledger.get_order(request.order_id)
            if action is None or action.result != "refunded":
                amiss.append(f"{request.request_id} ended as {action.result if action else 'nothing'}")
            elif order is None or order.committed_minor != request.amount_minor:
                amiss.append(f"the commitment of {request.order_id} is not what was refunded")
            elif self._ledger.get_refund(request.request_id) is None:
                amiss.append(f"{request.request_id} is closed without its row")
        return tuple(amiss)

    def refund_rows(self) -> Counter[str]:
        """Rows of refunds by request_id."""
        items = scanned(self._cloud, "RowsTable")
        return Counter(item["request_id"] for item in items if item["row_id"].startswith(_REFUND))

    def _open_before_a_pass(self, wanted: Set[str]) -> int:
        still_open = wanted & {action.request_id for action in self._ledger.open_actions()}
        if still_open:
            self._pass()
        return len(still_open)

    def _pass(self) -> None:
        function = self._cloud.outputs["ReconcileFunctionName"]
        answer = self._cloud.client("lambda").invoke(FunctionName=function, Payload=b"{}")
        if "FunctionError" in answer:
            failed = json.loads(answer["Payload"].read() or b"null")
            raise ExperimentError(f"a pass of the reconciler failed: {failed}")
