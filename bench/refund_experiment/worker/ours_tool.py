"""Our tool's handler."""

from __future__ import annotations

from functions.refunds.handlers.tool import handler

from . import ours as _armed  # noqa: F401 - for what importing it does

__all__ = ["handler"]
