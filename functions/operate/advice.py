"""What to do about each reason code: one table for rows that failed, are unknown or were rejected, and for pauses.

Pure; a test holds it against the codes in the source.
"""

from __future__ import annotations

from collections.abc import Mapping

_CORRECT = "and upload the corrected file; its unchanged rows cost nothing"
_DOUBT = (
    "A request may have been billed, so it is not sent again by itself: look for it in the provider's usage, then "
    "settle the row with prospects unknown resolve"
)
_LATER = "Nothing was billed; retry the upload's failures"
_REPORT = "Nothing to mend in the file: read the function's log for this row, and report it"

ADVICE: Mapping[str, str] = {
    # Rejected by the reader of the file.
    "control_character": f"Remove the control character from the record, {_CORRECT}.",
    "duplicate_in_file": "Nothing: the record has the label of the earlier record with the same e-mail address.",
    "field_too_long": f"Shorten the field that is over the limit, {_CORRECT}.",
    "invalid_email": f"Correct the e-mail address, {_CORRECT}.",
    "malformed_quote": f"Close or double the quotation mark in the record, {_CORRECT}.",
    "missing_email": f"Fill in the e-mail address, {_CORRECT}.",
    "missing_name": f"Fill in the name, {_CORRECT}.",
    "record_too_long": f"Shorten the record that is over the limit, {_CORRECT}.",
    "too_few_fields": f"Give the record as many fields as the header has, {_CORRECT}.",
    "too_many_fields": f"Put quotation marks around the field that holds the delimiter, {_CORRECT}.",
    "nothing_to_classify": f"Fill in one of the columns that the model is shown, {_CORRECT}.",
    # Answered, and paid for.
    "invalid_label": "The model's answer was no label, and it was paid for; label this prospect by hand.",
    "llm_truncated": "The model's answer was cut off, and it was paid for; label this prospect by hand, and if it "
    "happens often raise the setting max_tokens.",
    "llm_refused": "The model declined to answer, and it was paid for; label this prospect by hand.",
    "unreadable_answer": "The model's answer could not be read, and it was paid for; label this prospect by hand.",
    "answer_lost": "The request was billed and its answer is lost; label this prospect by hand.",
    # About this row, and unbilled.
    "llm_bad_request": "The model's API refused this row as it is, unbilled; look for odd text in its fields, correct "
    f"it {_CORRECT}.",
    "key_conflict": f"{_REPORT}: its key is stored with other fields; nothing was billed.",
    "key_mismatch": f"{_REPORT}: its event was changed on the way; nothing was billed.",
    "event_refused": f"{_REPORT}: the event bus refuses its event; nothing was billed.",
    # Retries were exhausted, and nothing was billed.
    "given_up": f"{_LATER}.",
    "llm_rate_limited": f"{_LATER} when the provider's rate limit has room, or lower the setting requests_in_flight.",
    "llm_unavailable": f"{_LATER} when the provider's status page says that the model is available.",
    "llm_overloaded": f"{_LATER} when the provider's status page says that the model is not overloaded.",
    "llm_connect_failed": f"{_LATER} when the function can reach the model's API; look at its network and the address.",
    "claim_answer_lost": f"{_LATER} when the idempotency table answers.",
    "llm_key_unread": f"{_LATER} when Secrets Manager answers.",
    "out_of_time": f"{_LATER}; if it happens again, raise the function's timeout above the model's deadline.",
    "handler_error": f"{_LATER} when the error in the function's log is mended.",
    "never_answered": f"{_LATER}; its event or its answer was lost several times, so read the alarms and logs first.",
    "in_progress": f"{_LATER}; another row with the same fields was being asked all the time.",
    "operator_rerun": f"{_LATER}.",
    "proven_absent": f"{_LATER}.",
    # The account is refused: the upload is paused, and no row ends with these by itself.
    "llm_key_refused": "Put a valid API key into the secret, then resume the upload.",
    "llm_key_unavailable": "Store the API key in the secret and let the function read it, then resume the upload.",
    "llm_billing_refused": "Settle the provider's billing or add credit, then resume the upload.",
    "llm_permission_denied": "Give the key or the role access to the model, then resume the upload.",
    "llm_model_not_found": "Get access to the model of the upload, in this Region, then resume the upload.",
    "llm_usage_limit": "Wait for the provider's usage limit to reset or have it raised, then resume the upload.",
    "llm_spend_limit": "Raise the provider's spend limit, then resume the upload.",
    "llm_account_refused": "Clear up with the provider why the organization is on hold, then resume the upload.",
    # A request may have been billed.
    "llm_error_outcome_unknown": f"{_DOUBT}.",
    "llm_timeout_outcome_unknown": f"{_DOUBT}.",
    "llm_connection_lost_outcome_unknown": f"{_DOUBT}.",
    "lease_expired_outcome_unknown": f"{_DOUBT}.",
    "earlier_attempt_outcome_unknown": f"{_DOUBT}.",
    "handler_error_outcome_unknown": f"{_DOUBT}.",
}

UNTOLD = "Look the code up in the function's log for this row; this version has no advice for it."


def advice_of(reason: str) -> str:
    """One sentence for a person; of a code that another version stored, where to look."""
    return ADVICE.get(reason, UNTOLD)
