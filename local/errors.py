"""What the local cloud says when it cannot do its work: one sentence, never a traceback."""

from __future__ import annotations


class LocalCloudError(Exception):
    """The local cloud did not start, deploy or stop; the message says what is wrong and where to look."""


class ScriptError(LocalCloudError):
    """A `--claude` script breaks a rule of its format; the message names the rule's number."""
