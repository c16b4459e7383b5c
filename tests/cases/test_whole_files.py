"""The cases about whole files, by kind: what the bus, the tables or one answer do by halves costs no other row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from functions.batch_get import UnreadKeysError, batch_get
from functions.events.entries import MAX_REQUEST_BYTES
from functions.uploads.keys import row_event_id
from tests.unit.classify_world import refused
from tests.unit.intake_world import Bus, csv
from tests.unit.operate_world import Service, by_person, service

ROOT = Path(__file__).parents[2]


@pytest.fixture
def w() -> Iterator[Service]:
    with service() as made:
        yield made


def test_llm_batch_drop_a_prompt_that_is_refused_fails_one_row_of_ten(w: Service) -> None:
    w.reply = by_person({"4": refused(400)})
    upload = w.done(csv(10))
    assert (upload.rows.classified, upload.rows.failed) == (9, 1)
    assert [item.row_number for item in w.rows(upload.upload_id) if item.reason == "llm_bad_request"] == [4]


class RefusesSome(Bus):
    """Accepts a request but for entries 3 and 7 of the first."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[Sequence[Mapping[str, Any]]] = []

    def put_events(self, *, EventBusArn: str, Entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:  # noqa: N803
        self.requests.append(Entries)
        first = len(self.requests) == 1
        taken = [entry for n, entry in enumerate(Entries, start=1) if not (first and n in {3, 7})]
        super().put_events(EventBusArn=EventBusArn, Entries=taken)
        results = [
            {"EventId": "e", "SuccessCode": "PUBLISHED"} if entry in taken else {"ErrorCode": "ThrottlingException"}
            for entry in Entries
        ]
        return {"FailedEntryCount": len(Entries) - len(taken), "Entries": results}


def test_eventbridge_putevents_only_what_failed_is_sent_again_and_every_row_is_asked_once(w: Service) -> None:
    bus = RefusesSome()
    w.session.stand_ins["eventbridgev2"] = w.bus = bus
    w.intake = w.deployed()
    upload = w.submit(csv(10))
    ids = [[entry["SystemMetadata"]["DeduplicationId"] for entry in request] for request in bus.requests]
    assert [len(request) for request in ids] == [10, 2]
    assert ids[1] == [row_event_id(upload.upload_id, number, 1) for number in (3, 7)]
    w.classify()
    assert (w.finish(upload.upload_id).rows.classified, len(w.asked)) == (10, 10)


def test_eventbridge_putevents_large_rows_are_split_by_bytes(w: Service) -> None:
    bus = RefusesSome()
    w.session.stand_ins["eventbridgev2"] = w.bus = bus
    w.intake = w.deployed()
    body = "email,name,notes\n" + "".join(f"p{n}@example.com,Person {n},{'n' * 30_000}\n" for n in range(1, 41))
    w.submit(body.encode())
    assert len(bus.requests) >= 3
    for request in bus.requests:
        assert sum(len(entry["Detail"].encode()) for entry in request) < MAX_REQUEST_BYTES
    assert bus.rows == list(range(1, 41))


def unprocessed(client: Any, monkeypatch: pytest.MonkeyPatch, rounds: int) -> list[int]:
    """Five keys of each of the first so many calls are left unread; the sizes of all calls."""
    real, sizes = client.batch_get_item, list[int]()

    def some(*, RequestItems: Any) -> Any:  # noqa: N803
        [(name, wanted)] = RequestItems.items()
        keys = wanted["Keys"]
        sizes.append(len(keys))
        left = keys[:5] if len(sizes) <= rounds else []
        found = real(RequestItems={name: {**wanted, "Keys": keys[len(left) :]}}) if len(keys) > len(left) else {}
        answered = {"Responses": found.get("Responses", {}), "UnprocessedKeys": {}}
        return answered | ({"UnprocessedKeys": {name: {**wanted, "Keys": left}}} if left else {})

    monkeypatch.setattr(client, "batch_get_item", some)
    return sizes


def test_dynamodb_lost_reads_keys_that_were_left_unread_are_read_before_anything_is_priced_or_paid(
    w: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    w.done(csv(25))
    sizes = unprocessed(w.idempotency.meta.client, monkeypatch, rounds=2)
    again = w.submit(csv(25, header="E-Mail,Name,Company\n"), "uploads/again.csv")
    assert sizes[:3] == [25, 5, 5]
    assert (again.counts.known, again.worst_case_microusd) == (25, 0)
    w.classify()
    assert (w.finish(again.upload_id).rows.known, len(w.asked)) == (25, 25)


def test_dynamodb_lost_reads_a_table_that_never_answers_for_a_key_is_no_missing_key() -> None:
    keys = [{"id": str(n)} for n in range(7)]
    left_unread = {"t": {"Keys": keys[:3]}}
    with pytest.raises(UnreadKeysError, match="left 3 of a batch's keys unread"):
        list(batch_get(lambda _: {"Responses": {}, "UnprocessedKeys": left_unread}, "t", keys, sleep=lambda _: None))


def test_dynamodb_lost_writes_nothing_is_written_in_batches_that_may_be_half_done() -> None:
    source = "".join(path.read_text() for path in (ROOT / "functions").rglob("*.py"))
    assert "batch_get_item" in source
    assert not [call for call in ("batch_write_item", "batch_writer", "send_message_batch") if call in source]


def test_idempotency_key_rows_of_which_nothing_is_shown_share_no_answer(w: Service) -> None:
    body = b"email,name,notes\na@example.com,Ann,\nb@example.com,Ben,\nc@example.com,Cy,\n"
    happened = w.put(body)
    w.deliver(happened, w.deployed(rendered_columns="notes"))
    upload = w.upload_of(happened)
    w.classify()
    assert [(row.key, row.outcome, row.reason) for row in w.rows(upload.upload_id)] == [
        ("", "failed", "nothing_to_classify")
    ] * 3
    assert (w.asked, w.idempotency.scan()["Items"]) == ([], [])
