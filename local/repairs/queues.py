"""SQS queues touched on one thread only.

MiniStack's API changes a queue on the event loop while its pollers replace the same list on other threads, so a message
sent in between is lost. Here every change runs on the loop.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from local.emulator import Emulator

_T = TypeVar("_T")
_WAKE_S = 0.1


class QueueError(Exception):
    """A message was not taken; `code` is one of the reasons a delivery names."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Queues:
    """Sends to queues and gives the pollers their messages, always on the event loop `loop`."""

    def __init__(self, emulator: Emulator, loop: asyncio.AbstractEventLoop) -> None:
        self._emulator = emulator
        self._loop = loop
        self._loop_thread = threading.get_ident()

    def install(self) -> None:
        """Replace the two functions through which event source mappings read and delete; start the fast wake-up."""
        sqs = self._emulator.sqs
        receive, delete = sqs._receive_messages_for_esm, sqs._delete_messages_for_esm
        sqs._receive_messages_for_esm = lambda *args: self._on_loop(lambda: receive(*args))
        sqs._delete_messages_for_esm = lambda *args: self._on_loop(lambda: delete(*args))
        threading.Thread(target=self._keep_polling, name="queue-wake", daemon=True).start()

    def exists(self, queue_arn: str) -> bool:
        return self._emulator.sqs._queue_by_arn(queue_arn) is not None

    def policy(self, queue_arn: str) -> str:
        """The queue's resource policy as JSON text; empty when it has none."""
        queue = self._emulator.sqs._queue_by_arn(queue_arn) or {}
        return str(queue.get("attributes", {}).get("Policy") or "")

    def send(self, queue_arn: str, body: str, attributes: Mapping[str, str] | None = None, **more: Any) -> None:
        """Put one message; `more` are further SendMessage parameters. Raises `QueueError`."""
        self._on_loop(lambda: self._send(queue_arn, body, attributes or {}, more))

    def _send(self, queue_arn: str, body: str, attributes: Mapping[str, str], more: Mapping[str, Any]) -> None:
        sqs = self._emulator.sqs
        queue = sqs._queue_by_arn(queue_arn)
        if queue is None:
            raise QueueError("RESOURCE_NOT_FOUND", "The queue does not exist.")
        _, _, _, region, account, _ = queue_arn.split(":", 5)
        message = {
            **more,
            "QueueUrl": queue["url"],
            "MessageBody": body,
            "MessageAttributes": {k: {"DataType": "String", "StringValue": v} for k, v in attributes.items()},
        }
        with self._emulator.responses.request_scope(account, region):
            # AWS sends over TLS, which the queues' policies insist on.
            self._emulator.iam.pin_request_origin("127.0.0.1", True)  # noqa: FBT003 - the emulator's own signature
            try:
                sqs._act_send_message(message, queue["url"])
            except sqs._Err as error:
                code = "REQUEST_TOO_LARGE" if "shorter than" in str(error) else "CUSTOMER_VALIDATION"
                raise QueueError(code, str(error)) from error

    def _on_loop(self, call: Callable[[], _T]) -> _T:
        if threading.get_ident() == self._loop_thread:
            return call()
        context = contextvars.copy_context()
        done: concurrent.futures.Future[_T] = concurrent.futures.Future()

        def run() -> None:
            try:
                done.set_result(context.run(call))
            except Exception as error:  # noqa: BLE001 - raised again in the thread that asked
                done.set_exception(error)

        self._loop.call_soon_threadsafe(run)
        return done.result()

    def _keep_polling(self) -> None:
        # A message whose visibility ran out wakes nobody: without this it waits for the poller's one-second pass.
        while True:
            time.sleep(_WAKE_S)
            self._emulator.concurrency.esm_wake.set()
