"""boto3 clients that can reach the local cloud and nothing else, whatever the environment of the caller says."""

from __future__ import annotations

import functools
import os
import threading
from typing import Any

import boto3
import botocore.session
from botocore.config import Config

from local.settings import ACCOUNT, REGION, SECRET

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


def client_environment(endpoint: str) -> dict[str, str]:
    """What any other AWS client has to be told: the AWS CLI and the SDKs read these variables."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        # The AWS CLI 1 and boto3 know the second name only.
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": ACCOUNT,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        # A token of another session would be sent along, and refused.
        "AWS_SESSION_TOKEN": "",
    }


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
                    aws_secret_access_key=SECRET,
                    config=_CONFIG,
                )
            return self._made[kind, service]
