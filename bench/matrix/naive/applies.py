"""What each kind of fault means for a naive stack, and which ones have nothing there that they could hit. Pure.

| fault | here |
|---|---|
| the model's answers | the same rules of the same stand-in, for the same requests |
| the handler, before the request leaves | around the SDK's call: stock has claimed by then |
| the handler, once it left | in the SDK's HTTP client, once the whole request is written; the SDK does not catch it |
| the handler, once it was answered | after the SDK's call: stock has saved nothing, bare has written nothing |
| PutItem | stock's claim and the write of a row's result; the latter alone in bare |
| UpdateItem | stock's save; bare makes none |
| PutEvents | nothing: the rows are put into the queue, and none of that is claimed to fail |
| the dead-letter queue, not writable | nothing: SQS itself moves a message there, no function writes to it |
| an event twice | the whole file is sent twice, both at once |
| two versions under one name | each version's rows are sent, both at once |
| SIGKILL at random moments | of the worker's processes, while a row is in its queue |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.matrix.contender import Fault
from bench.matrix.naive.points import ANSWERED, BEFORE_SEND
from bench.matrix.naive.template import FUNCTION, Worker

NAMES: Mapping[str, str] = {"worker": FUNCTION}
HOOKS: Sequence[str] = ("bench.matrix.naive.points",)
POINTS: Mapping[str, str] = {"before_send": BEFORE_SEND, "answered": ANSWERED}

_ABSENT = ("<publisher>", "<dead_letters>")
_OPERATIONS: Mapping[Worker, frozenset[str]] = {
    "stock": frozenset({"PutItem", "UpdateItem", "DeleteItem", "GetItem"}),
    "bare": frozenset({"PutItem"}),
}
"""What the worker asks of DynamoDB; its role may do nothing else."""


def applies(fault: Fault, worker: Worker) -> bool:
    """Whether the services that the fault makes fail are used at all."""
    return not fault.aws or any(_hits(rule["when"], worker) for rule in fault.aws)


def _hits(when: Mapping[str, Any], worker: Worker) -> bool:
    if any(text in _ABSENT for text in when.values()):
        return False
    return when.get("service") != "dynamodb" or when.get("operation", "PutItem") in _OPERATIONS[worker]
