"""What each kind of fault means for a naive stack, and which ones have nothing there that they could hit. Pure.

| fault | here |
|---|---|
| the model's answers | the same rules of the same stand-in, for the same requests |
| the handler, before the request leaves | around the SDK's call: stock has claimed by then |
| the handler, once it left | in the SDK's HTTP client, once the whole request is written; not caught by the SDK |
| the handler, once it was answered | after the SDK's call: stock has saved nothing, bare has written nothing |
| DynamoDB | the same rules for what the worker asks of it: stock's claim and save, and the write of a row's result |
| PutEvents, the publisher | nothing: the rows are put into the queue, and none of that is claimed to fail |
| the dead-letter queue, not writable | nothing: SQS itself moves a message there, no function writes to it |
| an event twice | the whole file is sent twice, both at once |
| two versions under one name | each version's rows are sent, the second version's after the first's |
| SIGKILL at random moments | of the worker's processes, while a row is in its queue |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.matrix.contender import Fault, HandlerFault
from bench.matrix.naive.points import ANSWERED, BEFORE_SEND
from bench.matrix.naive.template import FUNCTION, RESULTS
from local.faults.plan import HandlerPlan, PointFault
from local.faults.request_hook import SENT

_NAMES = {"<worker>": FUNCTION, "<results>": RESULTS}
_ABSENT = ("<publisher>", "<dead_letters>")
_POINTS = {"before_send": BEFORE_SEND, "sent": SENT, "answered": ANSWERED}
_HOOKS = ("bench.matrix.naive.points", "local.faults.request_hook")


def applies(fault: Fault) -> bool:
    """Whether anything of the fault has something to hit."""
    if fault.aws and not service_faults(fault):
        return bool(fault.claude or fault.handler or fault.kills or fault.action != "once")
    return True


def service_faults(fault: Fault) -> list[dict[str, Any]]:
    """Its rules about what is here, with the names that it has here."""
    return [_named(rule) for rule in fault.aws if not any(text in _ABSENT for text in rule["when"].values())]


def handler_faults(fault: HandlerFault | None) -> HandlerPlan | None:
    if fault is None:
        return None
    # A library takes an exception at this moment for the transport's: it has to be one that nobody catches.
    does = "abort" if (fault.at, fault.does) == ("sent", "raise") else fault.does
    return HandlerPlan(hooks=_HOOKS, faults=[PointFault(point=_POINTS[fault.at], does=does, times=fault.times)])


def _named(rule: Mapping[str, Any]) -> dict[str, Any]:
    return {**rule, "when": {name: _NAMES.get(text, text) for name, text in rule["when"].items()}}
