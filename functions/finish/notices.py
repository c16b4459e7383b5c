"""What people are told of an upload that waits for them, as plain text for an e-mail, from its META alone. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from functions.finish.summary import MAX_SUBJECT, usd
from functions.text import one_line
from functions.uploads.model import Announcement, Upload

WHAT_TO_DO: Mapping[str, str] = {
    "llm_key_unavailable": "The API key could not be read: look at the secret and at the permission of classify on it.",
    "llm_key_refused": "The API key was refused: put a valid one into the secret.",
    "llm_permission_denied": "The API key may not use this model: allow it, or put another key into the secret.",
    "llm_model_not_found": "The model does not exist or is not open to this account: look at the setting model_id.",
    "llm_billing_refused": "The account of the model's provider cannot be billed: look at its credit and its payments.",
    "llm_account_refused": "The model's provider refuses the account: look at its messages in the provider's console.",
    "llm_usage_limit": "The account's usage limit is reached: raise it, or wait until it starts anew.",
    "llm_spend_limit": "The account's spend limit is reached: raise it, or wait until it starts anew.",
}
"""By the reason of a pause."""
OTHERWISE = "Look for this reason in the log of the classify function."


class Notice(NamedTuple):
    subject: str
    text: str


def notice_of(upload: Upload, announcement: Announcement) -> Notice:
    """What an announcement tells of the upload as it stands now."""
    match announcement.kind:
        case "finished":
            return Notice(announcement.subject, announcement.text)
        case "paused":
            return _paused(upload)
        case "needs_approval":
            return _needs_approval(upload)


def _paused(upload: Upload) -> Notice:
    lines = [
        f"Upload {upload.upload_id} is paused: no row of it is sent to the model, and none is lost.",
        f"File: {one_line(upload.object_key)}",
        "",
        f"Reason: {upload.pause_reason}",
        f"What to do: {WHAT_TO_DO.get(upload.pause_reason, OTHERWISE)}",
        "",
        *(
            [f"Then let it go on; what is answered already is not paid again:  prospects resume {upload.upload_id}"]
            if upload.state == "paused"
            else ["It was resumed since."]
        ),
    ]
    return _notice(f"Prospects paused: {upload.pause_reason}", lines)


def _needs_approval(upload: Upload) -> Notice:
    counts = upload.counts
    price = usd(upload.worst_case_microusd)
    reached = f" ({upload.pause_reason})" if upload.pause_reason else ""
    lines = [
        f"Upload {upload.upload_id} waits for approval: nothing of it has been sent to the model.",
        f"File: {one_line(upload.object_key)}",
        "",
        f"It costs at most {price}, which is over a ceiling{reached}: the one of an upload (setting",
        "max_upload_microusd), or what is left today of the one of a UTC day (setting max_day_microusd).",
        "",
        f"Records in the file: {counts.records:,}, of which {counts.valid:,} are valid, {counts.rejected:,} rejected, "
        f"{counts.duplicates:,} duplicate, {counts.blank:,} blank.",
        f"Already answered, at cost 0: {counts.known:,}. To be asked: {counts.valid - counts.known:,}.",
        "",
        *(
            [f"To let it run:  prospects approve {upload.upload_id}"]
            if upload.state == "needs_approval"
            else ["It was approved since."]
        ),
    ]
    return _notice(f"Prospects need approval: at most {price}", lines)


def _notice(subject: str, lines: list[str]) -> Notice:
    return Notice(subject[: MAX_SUBJECT - 1], "\n".join(lines) + "\n")
