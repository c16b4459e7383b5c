"""Why an operator's order was not carried out: one clear sentence each. Nothing was changed.

OperateError
  ├─ UnknownUpload   there is no such upload
  ├─ WrongStateError the upload is not in the state that the order is for
  │    ├─ NotWaiting   approve: it does not wait for approval
  │    ├─ NotPaused    resume: it is not paused
  │    └─ NotDone      retry: it is not done
  ├─ NothingToRetry  retry: no row failed in a way that could end otherwise
  ├─ NothingUnknown  unknown resolve: no row of the upload waits for a decision
  ├─ NotUnknown      unknown resolve: this one does not
  ├─ MovedOn         unknown resolve: it did, until an answer or somebody else was faster
  ├─ Contended       unknown resolve: others changed the upload under every try
  ├─ UnknownKey      audit, unknown resolve: nothing is stored under this key
  └─ NoSuchRow       audit: the upload has no valid record of that number
"""

from __future__ import annotations

_STATES = {
    "running": "is running",
    "needs_approval": "waits for approval",
    "paused": "is paused",
    "done": "is done",
}


def standing(state: str) -> str:
    """An upload's state as the verb of a sentence."""
    return _STATES.get(state, f"is {state}")


class OperateError(Exception):
    """Base of them all; its text is the sentence."""


class UnknownUpload(OperateError):  # noqa: N818 - these are named by what is the case, for the person who reads them
    """There is no such upload."""

    def __init__(self, upload_id: str) -> None:
        super().__init__(f"There is no upload {upload_id} here; check its id, the Region and the account.")


class WrongStateError(OperateError):
    """The upload is not in the state that the order is for."""

    wanted = ""

    def __init__(self, upload_id: str, state: str) -> None:
        super().__init__(f"The upload {upload_id} {standing(state)}; {self.wanted}.")
        self.state = state


class NotWaiting(WrongStateError):  # noqa: N818
    """Only what waits for approval can be approved."""

    wanted = "only one that waits for approval can be approved"


class NotPaused(WrongStateError):  # noqa: N818
    """Only what is paused can be resumed."""

    wanted = "only one that is paused can be resumed"


class NotDone(WrongStateError):  # noqa: N818
    """Only what is done can be retried."""

    wanted = "its failures can be retried when it is done"


class NothingToRetry(OperateError):  # noqa: N818
    """No failure of the upload could end otherwise."""

    def __init__(self, upload_id: str) -> None:
        super().__init__(
            f"No row of the upload {upload_id} failed in a way that another try could mend; its failures tell why."
        )


class NothingUnknown(OperateError):  # noqa: N818
    """No row of an upload waits for a decision."""

    def __init__(self, upload_id: str) -> None:
        super().__init__(f"No row of the upload {upload_id} waits for this decision; prospects unknown list shows all.")


class NotUnknown(OperateError):  # noqa: N818
    """What was named does not wait for a decision; `why` goes on from `what` as a sentence does."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what} {why}; nothing was changed.")


class MovedOn(OperateError):  # noqa: N818
    """Between the plan and the order, every record became another one."""

    def __init__(self, upload_id: str) -> None:
        super().__init__(
            f"What was to be decided in the upload {upload_id} was answered, or decided by somebody else, meanwhile; "
            "it was left alone, so look again with prospects unknown list."
        )


class TooOld(OperateError):  # noqa: N818
    """An upload whose rows and answers may be deleted by now."""

    def __init__(self, upload_id: str) -> None:
        super().__init__(
            f"The upload {upload_id} is so old that answers of its rows are not kept any more, "
            "so asking again would pay for them again; upload the file anew if you want that."
        )


class Contended(OperateError):  # noqa: N818
    """An upload was changed by others under every try to reserve for it."""

    def __init__(self, upload_id: str) -> None:
        super().__init__(
            f"The upload {upload_id} was changed by others under every try, or its end is still being told; "
            "give the order again in a minute, and it goes on."
        )


class UnknownKey(OperateError):  # noqa: N818
    """Nothing is stored under a key."""

    def __init__(self, key: str) -> None:
        # Whatever was typed in place of a key is not repeated: it may be a person's e-mail address.
        named = f"under the key {key}" if is_key(key) else "under that (a key is 64 hex digits)"
        super().__init__(f"Nothing is stored {named}; it was never asked, or its record's retention is over.")


class NoSuchRow(OperateError):  # noqa: N818
    """An upload has no valid record of a number."""

    def __init__(self, upload_id: str, row_number: int, why: str) -> None:
        super().__init__(f"Row {row_number} of the upload {upload_id} has no answer to audit: {why}.")


def is_key(text: str) -> bool:
    """Whether a text is spelled like a business key."""
    return len(text) == 64 and not set(text) - set("0123456789abcdef")
