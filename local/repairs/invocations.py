"""Running handlers: at most so many at a time, with the answers that AWS would give.

MiniStack starts a process for every concurrent event, and takes an unreadable partial batch response for success.
"""

from __future__ import annotations

import logging
import re
import threading
from collections import Counter
from dataclasses import dataclass
from typing import Any

from local.emulator import Emulator
from local.repairs.gate import Gate

logger = logging.getLogger(__name__)

_ANY_ERROR = "Runtime.HandlerError"
_RAISED = re.compile(r"(?:\w+\.)*(\w+)(?:: |$)")


class FunctionMissingError(Exception):
    """There is no function of this ARN."""


@dataclass(frozen=True)
class Answer:
    """What an invocation came to. `error_type` is empty when the handler returned."""

    body: Any
    error_type: str = ""
    throttled: bool = False


class Invocations:
    """Invokes functions; every handler in the local cloud passes through its gate."""

    def __init__(self, emulator: Emulator, gate: Gate) -> None:
        self._emulator = emulator
        self._gate = gate
        self._delivered: Counter[str] = Counter()
        self._lock = threading.Lock()

    def install(self) -> None:
        functions = self._emulator.functions
        dispatch, concurrency = functions._execute_function_dispatch, functions._sqs_esm_concurrency

        def gated(func: Any, config: Any, event: Any, *rest: Any) -> Any:
            self._count(config["FunctionName"], event)
            # A handler that waits for the one it called would hold the place that one needs.
            if functions._invoke_depth.get() > 1 and not _queued.here:
                return _by_class(dispatch(func, config, event, *rest))
            with self._gate.turn():
                result = dispatch(func, config, event, *rest)
            return _checked(event, _by_class(result))

        functions._execute_function_dispatch = gated
        functions._sqs_esm_concurrency = lambda *args: min(concurrency(*args), self._gate.width)

    def deliveries(self) -> dict[str, int]:
        """What was handed to each function: messages of its queue, each time counted, or other events."""
        with self._lock:
            return dict(self._delivered)

    def _count(self, name: str, event: Any) -> None:
        with self._lock:
            self._delivered[name] += len(event["Records"]) if _from_queue(event) else 1

    def record(self, function_arn: str) -> Any:
        """The emulator's record of a function, or None."""
        found, config, _ = self._in_scope(function_arn, self._emulator.functions._get_func_record_for_ref, function_arn)
        return self._emulator.functions._execution_record_for_config(found, config) if found and config else None

    def exists(self, function_arn: str) -> bool:
        return self.record(function_arn) is not None

    def policy(self, function_arn: str) -> Any:
        """The function's resource policy."""
        return (self.record(function_arn) or {}).get("policy")

    def run(self, function_arn: str, event: Any) -> Answer:
        """Invoke and wait. Raises `FunctionMissingError`."""
        record = self.record(function_arn)
        if record is None:
            raise FunctionMissingError(function_arn)
        return self.run_record(record, event)

    def run_record(self, record: Any, event: Any) -> Answer:
        with _queued:
            result = self._emulator.functions._execute_function_with_config_scope(record, event)
        body, name = result.get("body"), record["config"]["FunctionName"]
        if result.get("log"):
            logger.info("%s output:\n%s", name, result["log"])
        if not result.get("error"):
            return Answer(body)
        kind = body.get("errorType") if isinstance(body, dict) else None
        logger.warning("%s failed (%s)", name, kind or "Unhandled")
        return Answer(body, error_type=str(kind or "Unhandled"), throttled=bool(result.get("throttle")))

    def warm(self) -> dict[str, str]:
        """Start the handlers' processes before they are needed; returns what went wrong, by function name."""
        faults: dict[str, str] = {}
        threads = [
            threading.Thread(target=self._start_worker, args=(worker, faults), daemon=True)
            for _, record in list(self._emulator.functions._functions.all_items())
            for worker in self._leased(record)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return faults

    def _leased(self, record: Any) -> list[Any]:
        """All at once, or the second would be the first again: as many as a queue will drive, else one."""
        config, functions = record["config"], self._emulator.functions
        driven = any(esm["FunctionName"] == config["FunctionName"] for _, esm in functions._esms.all_items())
        lease = self._emulator.runtime.acquire_worker
        code = record["code_zip"]
        return [lease(config["FunctionName"], config, code)[0] for _ in range(self._gate.width if driven else 1)]

    def _start_worker(self, worker: Any, faults: dict[str, str]) -> None:
        with self._gate.turn():
            try:
                self._emulator.runtime.ensure_spawned(worker)
            except Exception as error:  # noqa: BLE001 - whatever a handler's import raises is what is reported
                faults[worker.func_name] = str(error)
            finally:
                self._emulator.runtime.release_worker(worker)

    def _in_scope(self, arn: str, call: Any, *args: Any) -> Any:
        _, _, _, region, account, _ = arn.split(":", 5)
        with self._emulator.responses.request_scope(account, region):
            return call(*args)


class _Queued(threading.local):
    """Whether this thread runs a handler on nobody's behalf: no other handler waits for it."""

    here = False

    def __enter__(self) -> None:
        self.here = True

    def __exit__(self, *_: object) -> None:
        self.here = False


_queued = _Queued()


def _by_class(result: Any) -> Any:
    """With the class of what the handler raised as `errorType`: Lambda reports it, MiniStack only logs it."""
    body = result.get("body")
    if not result.get("error") or not isinstance(body, dict) or body.get("errorType") != _ANY_ERROR:
        return result
    first = (str(body.get("errorMessage", "")).splitlines() or [""])[0]
    for line in reversed(str(result.get("log", "")).splitlines()):
        raised = _RAISED.match(line)
        # The last line of a traceback that begins this message.
        if raised is not None and line.endswith(first):
            return {**result, "body": {**body, "errorType": raised.group(1)}}
    return result


def _checked(event: Any, result: Any) -> Any:
    """A partial batch response that names no message of the batch fails the whole batch, as Lambda does."""
    if result.get("error") or not _from_queue(event):
        return result
    if _readable(result.get("body"), {record["messageId"] for record in event["Records"]}):
        return result
    body = {"errorType": "Local.BatchResponse", "errorMessage": "The batch response names messages it does not have."}
    return {"body": body, "error": True, "log": result.get("log", "")}


def _from_queue(event: Any) -> bool:
    records = event.get("Records") if isinstance(event, dict) else None
    return bool(records) and all(record.get("eventSource") == "aws:sqs" for record in records or ())


def _readable(body: Any, message_ids: set[str]) -> bool:
    if not isinstance(body, dict) or not body.get("batchItemFailures"):
        return True
    failures = body["batchItemFailures"]
    return isinstance(failures, list) and all(
        isinstance(failure, dict) and failure.get("itemIdentifier") in message_ids for failure in failures
    )
