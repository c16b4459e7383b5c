"""The payment provider's stand-in over HTTP, and the real Stripe library talking to it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from functions.refunds.providers.stripe import StripeProvider
from local.payments.http import PaymentsServer
from local.payments.script import Rule, parse_script
from local.payments.standin import Reply, StandIn


class Key:
    """Stands in for the secret that holds the API key."""

    def __init__(self) -> None:
        self.forgotten: list[str] = []

    def get(self) -> str:
        return "sk_test_1"

    def forget(self, key: str) -> None:
        self.forgotten.append(key)


class Payments:
    """A stand-in that listens. What a script delays waits for `let_go`, however long it says."""

    def __init__(self, script: Any, clock: Callable[[], float]) -> None:
        self._let_go = threading.Event()
        self.standin = _Counted(parse_script(script), clock=clock, wait=lambda _s: self._until_let_go())
        self.key: Any = Key()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._server = PaymentsServer(self.standin)
        self._server.start(self._listening)
        self._providers: list[StripeProvider] = []

    def provider(
        self, *, deadline_s: float = 20.0, keys_retention_s: float = 86_400.0, url: str = ""
    ) -> StripeProvider:
        provider = StripeProvider(
            self.key, api_base=url or self.url, deadline_s=deadline_s, keys_retention_s=keys_retention_s
        )
        self._providers.append(provider)
        return provider

    def shared(self) -> StripeProvider:
        """One provider for many worlds."""
        return self._providers[0] if self._providers else self.provider(keys_retention_s=86_400.0)

    def close(self) -> None:
        self._let_go.set()
        for provider in self._providers:
            provider.close()
        self._server.close()

    def let_go(self) -> None:
        """Let the late requests end, and wait until they have."""
        self._let_go.set()
        self.standin.wait_until_idle()

    def _until_let_go(self) -> None:
        if not self._let_go.wait(60):
            raise TimeoutError("nobody let the late request go")


class _Counted(StandIn):
    """Knows when no request is being executed."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._idle = threading.Condition()
        self._running = 0

    def add_rule(self, rule: Any) -> None:
        rules = (*self._script.rules, Rule.model_validate(rule))
        self._script = self._script.model_copy(update={"rules": rules})

    def create(self, parameters: Mapping[str, str], key: str) -> Reply:
        with self._idle:
            self._running += 1
        try:
            return super().create(parameters, key)
        finally:
            with self._idle:
                self._running -= 1
                self._idle.notify_all()

    def wait_until_idle(self) -> None:
        with self._idle:
            assert self._idle.wait_for(lambda: self._running == 0, timeout=60)


@contextmanager
def payments(script: Any, clock: Callable[[], float]) -> Iterator[Payments]:
    opened = Payments(script, clock)
    try:
        yield opened
    finally:
        opened.close()
