"""boto3 clients that can reach the local cloud and nothing else, whatever the environment of the caller says."""

from __future__ import annotations

import functools
import os
import threading
from typing import Any

import boto3
import botocore.session
from botocore.config import Config

from local.settings import ACCOUNT, REGION

# In botocore's own form: (name in the config file, environment variable, default, conversion). No environment here.
_ISOLATED = {
    "profile": (None, None, None, None),
    "config_file": (None, None, os.devnull, None),
    "credentials_file": (None, None, os.devnull, None),
}
_CONFIG = Config(
    proxies={},
    retries={"mode": "standard", "total_max_attempts": 3},
    connect_timeout=5,
    read_timeout=120,
    max_pool_connections=20,
)


class Clients:
    """Clients and resources of one endpoint, made once each. Thread-safe."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self._lock = threading.Lock()
        self._made: dict[tuple[str, str], Any] = {}

    def client(self, service: str) -> Any:
        return self._get("client", service)

    def resource(self, service: str) -> Any:
        return self._get("resource", service)

    @functools.cached_property
    def _session(self) -> boto3.Session:
        return boto3.Session(botocore_session=botocore.session.Session(session_vars=_ISOLATED), region_name=REGION)

    def _get(self, kind: str, service: str) -> Any:
        with self._lock:
            if (kind, service) not in self._made:
                make = getattr(self._session, kind)
                self._made[kind, service] = make(
                    service,
                    endpoint_url=self.endpoint,
                    aws_access_key_id=ACCOUNT,
                    aws_secret_access_key="local",  # noqa: S106 - the emulator asks for none
                    config=_CONFIG,
                )
            return self._made[kind, service]
