"""What must hold of a world when all is over, however it came there; and what must never change on the way."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from functions.classify.row_event import Message
from functions.effects.states import State
from functions.uploads.model import RowItem, Upload
from tests.effects.scenarios import effect_id
from tests.effects.service import Delivery, Service


@dataclass(frozen=True)
class Allowed:
    """What a disturbance may lead to: that the answer about the `person` of the disturbed delivery is unknown, and that
    a notice goes out `again`."""

    person: str = ""
    again: bool = False


def person_of(delivery: Delivery) -> str:
    """Whom a row's delivery is about; empty for any other."""
    if not isinstance(delivery.given, Message):
        return ""
    return str(json.loads(delivery.given.body)["detail"]["data"]["fields"]["name"])


@dataclass(frozen=True)
class Before:
    """What had its end at one moment: by id, the records that are DONE and the rows that have an item."""

    ended: Mapping[str, Any]

    @classmethod
    def of(cls, world: Service) -> Self:
        return cls({name: item for item in world.account.items() if (name := _ended(item))})


def _ended(item: Mapping[str, Any]) -> str:
    """The address of an item that is an end for good, or an empty text. What was given up unbilled may be asked again
    by an operator."""
    if item.get("state") == {"S": State.DONE} and not item["outcome"]["M"]["retryable"]["BOOL"]:
        return str(item["id"]["S"])
    if item.get("outcome", {}).get("S") in ("classified", "failed") and "attention" not in item:
        return f"{item['pk']['S']}/{item['sk']['S']}"
    return ""


def check_nothing_was_overwritten(moments: list[Before], world: Service) -> None:
    """An end stays as it was, but that a late answer may be counted in a record."""
    now = {name: item for item in world.account.items() if (name := _ended(item))}
    for moment in moments:
        for name, item in moment.ended.items():
            kept = {key: value for key, value in now.get(name, {}).items() if key != "late_answers"}
            assert kept == {key: value for key, value in item.items() if key != "late_answers"}, name


def check(world: Service, ends: Mapping[str, str], allowed: Allowed) -> None:
    """`ends` by the person's name, as in `Scenario`."""
    assert world.between.broken == []
    uploads = [_upload(world, upload_id) for upload_id in _upload_ids(world)]
    assert list(world.uploads.open_uploads()) == []
    assert world.between.invocations.failed == []
    found: dict[str, str] = {}
    for upload in uploads:
        found |= _check_upload(world, upload)
    assert found.keys() == ends.keys()
    other = {name: end for name, end in found.items() if end != ends[name]}
    assert other.keys() <= {allowed.person}, other
    assert all(end.startswith("unknown ") for end in other.values()), other
    _check_money(world, uploads)
    _check_was_told(world, uploads)
    _check_was_told_once(world, allowed)


def _upload_ids(world: Service) -> list[str]:
    objects = world.uploads.get_objects(world.versions).values()
    return sorted({item.upload_id for item in objects if item.upload_id})


def _upload(world: Service, upload_id: str) -> Upload:
    upload = world.uploads.get_upload(upload_id)
    assert upload is not None
    return upload


def _check_upload(world: Service, upload: Upload) -> dict[str, str]:
    """Where each person of the upload's valid rows ended."""
    counts, rows = upload.counts, upload.rows
    assert (upload.state, upload.published, upload.reserved_microusd) == ("done", True, 0)
    assert counts.records == counts.valid + counts.rejected + counts.duplicates + counts.blank
    items = list(world.uploads.iter_rows(upload.upload_id))
    outcomes = Counter(item.outcome for item in items)
    assert counts.valid == len(items) == len({item.row_number for item in items})
    assert (rows.classified, rows.failed, rows.unknown) == (
        outcomes["classified"],
        outcomes["failed"],
        outcomes["unknown"],
    )
    assert rows.cost_microusd == sum(item.cost_microusd for item in items)
    assert rows.known == sum(item.known for item in items)
    names = _check_results(world, upload, items)
    for item in items:
        _check_record(world, item)
    dead = {json.loads(body)["detail"]["data"]["row_number"] for body in world.between.queues.dead}
    assert {item.row_number for item in items if item.outcome == "failed" and item.paid} <= dead
    return {names[item.row_number]: f"{item.outcome} {item.label or item.reason}" for item in items}


def _check_results(world: Service, upload: Upload, items: list[RowItem]) -> dict[int, str]:
    """The results CSV holds every record that is not blank, in order, with its end; the names by row number."""
    assert upload.results_key is not None
    body, metadata = world.account.get_object(upload.results_key)
    assert metadata["revision"] == str(upload.revision)
    source, _ = world.account.get_object(upload.object_key)
    records = [line for line in csv.reader(io.StringIO(source.decode())) if line][1:]
    assert len(records) == upload.counts.records
    numbered = {number: line for number, line in enumerate(records, 1) if any(line)}
    results = list(csv.reader(io.StringIO(body.decode("utf-8-sig"))))[1:]
    assert [line[:2] for line in results] == [line[:2] for line in numbered.values()]
    told = dict(zip(numbered, results, strict=True))
    for item in items:
        assert told[item.row_number][3:5] == [item.label, item.reason]
        assert told[item.row_number][7] == item.request_id
    return {number: line[1] for number, line in numbered.items()}


def _check_record(world: Service, item: RowItem) -> None:
    record = world.workers.effects().read(f"classify-prospect:{item.key}")
    assert record is not None
    assert record.state in (State.DONE, State.UNKNOWN)
    assert (item.outcome == "unknown") == (record.state is State.UNKNOWN)
    assert (item.reason, item.attempt) == (record.reply.reason, record.attempt)
    assert item.label == record.reply.result.get("label", "")


def _check_money(world: Service, uploads: list[Upload]) -> None:
    model = world.between.model
    records = world.workers.effects().read_many([effect_id(name) for name in model.roads])
    for name in model.roads:
        record = records.get(effect_id(name))
        assert model.billed[name] <= 1, f"{name} may have been billed {model.billed[name]} times"
        assert record is None or model.billed[name] <= record.paid_attempts <= 1
    days = {upload.budget_day for upload in uploads if upload.budget_day}
    for day in days:
        budget = world.uploads.get_budget(day)
        spent = sum(upload.rows.cost_microusd for upload in uploads if upload.budget_day == day)
        in_doubt = sum(upload.rows.in_doubt_microusd for upload in uploads if upload.budget_day == day)
        # A doubt that was lifted since frees nothing of its day.
        assert budget.spent_microusd == spent
        assert spent + in_doubt <= budget.committed_microusd


def _check_was_told(world: Service, uploads: list[Upload]) -> None:
    """Each end as it is now, by mail and as an event; each pause; each refusal."""
    mails = world.between.topic.mails
    ends = {(found["upload_id"], found["revision"]) for found in map(_data, world.between.bus.finished.values())}
    for upload in uploads:
        rows = upload.rows
        subject = f"Prospects done: {rows.classified} classified, {rows.failed} failed, {rows.unknown} unknown"
        assert any(subject == told and upload.upload_id in text for told, text in mails), subject
        assert (upload.upload_id, upload.revision) in ends
        if upload.pause_reason:
            assert any(upload.upload_id in text and upload.pause_reason in text for _, text in mails)
    for item in world.uploads.get_objects(world.versions).values():
        if item.refusal:
            assert any(f"Reason: {item.refusal}" in text for _, text in mails)


def _data(details: set[str]) -> Any:
    [detail] = details
    return json.loads(detail)["data"]


def _check_was_told_once(world: Service, allowed: Allowed) -> None:
    mails = Counter(world.between.topic.mails)
    again = {mail: number for mail, number in mails.items() if number > 1}
    assert not again or allowed.again, again
