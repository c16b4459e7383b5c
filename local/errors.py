"""What the local cloud says when it cannot do its work: one sentence, never a traceback."""

from __future__ import annotations


class LocalCloudError(Exception):
    """The local cloud did not start, deploy or stop; the message says what is wrong and where to look."""


class GivenError(LocalCloudError):
    """A setting, a port or a script that cannot be used: the message says all there is, and no log says more."""


class ScriptError(GivenError):
    """A `--claude` script breaks a rule of its format; the message names the rule's number."""


class FaultRuleError(GivenError):
    """A rule for faults of the services breaks its format; the message names the rule's number."""


def sentence(text: str) -> str:
    """The text with an end, so that another sentence may follow; what others say often has none."""
    text = text.rstrip()
    return text if text.endswith((".", "!", "?")) else f"{text}."
