"""The publisher against a bus that accepts, refuses and drops as it likes.

Invariants: every entry is accepted at least once or named as unpublished; only what was not accepted is sent again,
with the same id; no request exceeds 100 entries or 1 MB as serialized by botocore.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError
from botocore.serialize import create_serializer
from botocore.stub import Stubber
from hypothesis import given, settings
from hypothesis import strategies as st

from functions.events.entries import MAX_ENTRIES, MAX_REQUEST_BYTES, Entry, EntryTooLarge, packed
from functions.events.publisher import Publisher, PublishIncomplete, PublishRefused

BUS = "arn:aws:events:eu-west-1:111122223333:event-busv2/prospects/abcdefghijklmnopqrstuvwxy"
Answer = dict[str, Any] | Exception


def entry(number: int, text: str = "") -> Entry:
    return Entry(f"id-{number}", "prospect.submitted", {"n": number, "text": text})


def error(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "canary"}}, "PutEvents")


def accepted(ids: Sequence[str]) -> dict[str, Any]:
    return {"Entries": [{"EventId": name, "SuccessCode": "PUBLISHED"} for name in ids]}


class Bus:
    """A bus whose answer to the n-th request is decided by `reply`; keeps what it was sent and what it accepted."""

    def __init__(self, reply: Callable[[int, list[str]], Answer] | None = None) -> None:
        self._reply = reply or (lambda _number, ids: accepted(ids))
        self.requests: list[list[str]] = []
        self.bodies: list[Sequence[Mapping[str, Any]]] = []
        self.accepted_by_request: list[set[str]] = []

    @property
    def accepted(self) -> set[str]:
        return set().union(*self.accepted_by_request)

    def put_events(self, *, EventBusArn: str, Entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:  # noqa: N803
        assert EventBusArn == BUS
        ids = [e["SystemMetadata"]["DeduplicationId"] for e in Entries]
        self.requests.append(ids)
        self.bodies.append(Entries)
        answer = self._reply(len(self.requests), ids)
        if isinstance(answer, Exception):
            self.accepted_by_request.append(set())
            raise answer
        results = zip(ids, answer["Entries"], strict=False)
        self.accepted_by_request.append({name for name, result in results if result.get("EventId")})
        return answer


class Pauses:
    def __init__(self) -> None:
        self.taken: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


def publisher(bus: Bus, pauses: Pauses | None = None, max_tries: int = 8) -> Publisher:
    return Publisher(bus, BUS, max_tries=max_tries, sleep=pauses or Pauses(), jitter=lambda: 0.5)


def test_an_entry_arrives_with_its_source_type_detail_and_deduplication_id() -> None:
    bus = Bus()
    publisher(bus).publish([entry(1, "é")])
    [sent] = bus.bodies[0]
    assert sent["Source"] == "prospect-uploader"
    assert sent["DetailType"] == "prospect.submitted"
    assert json.loads(sent["Detail"]) == {"n": 1, "text": "é"}
    assert sent["SystemMetadata"] == {"DeduplicationId": "id-1"}


def test_the_real_client_takes_what_is_sent_and_its_answer_without_a_count_is_success() -> None:
    client = boto3.client("eventbridgev2", region_name="eu-west-1", aws_access_key_id="a", aws_secret_access_key="b")
    with Stubber(client) as stub:
        stub.add_response("put_events", {"Entries": [{"EventId": "e-1", "SuccessCode": "DEDUPLICATED"}]})
        Publisher(client, BUS).publish([entry(1)])
        stub.assert_no_pending_responses()


def test_nothing_to_publish_sends_nothing() -> None:
    bus = Bus()
    publisher(bus).publish([])
    assert bus.requests == []


@pytest.mark.parametrize(("count", "calls"), [(1, 1), (100, 1), (101, 2), (1000, 10)])
def test_small_entries_go_a_hundred_to_a_request(count: int, calls: int) -> None:
    bus = Bus()
    publisher(bus).publish([entry(n) for n in range(count)])
    assert len(bus.requests) == calls
    assert [name for ids in bus.requests for name in ids] == [f"id-{n}" for n in range(count)]


def test_only_the_entries_that_failed_are_sent_again_with_the_same_ids() -> None:
    def third_and_seventh_fail(number: int, ids: list[str]) -> Answer:
        answer = accepted(ids)
        if number == 1:
            answer["FailedEntryCount"] = 2
            for index in (2, 6):
                answer["Entries"][index] = {"ErrorCode": "ThrottlingException", "ErrorMessage": "slow down"}
        return answer

    bus = Bus(third_and_seventh_fail)
    publisher(bus).publish([entry(n) for n in range(1, 11)])
    assert bus.requests == [[f"id-{n}" for n in range(1, 11)], ["id-3", "id-7"]]
    assert len(bus.accepted) == 10


def test_a_big_batch_is_split_by_bytes() -> None:
    bus = Bus()
    publisher(bus).publish([entry(n, "x" * 110_000) for n in range(10)])
    assert [len(ids) for ids in bus.requests] == [9, 1]
    assert len(bus.accepted) == 10


def test_a_repeat_is_success_whatever_the_count_says() -> None:
    bus = Bus(lambda _n, ids: {"FailedEntryCount": 1, "Entries": [{"SuccessCode": "DEDUPLICATED"}]})
    publisher(bus).publish([entry(1)])
    assert len(bus.requests) == 1


@pytest.mark.parametrize("answer", [{"Entries": []}, {"Entries": [{}]}, {"FailedEntryCount": 0, "Entries": None}])
def test_an_answer_that_says_nothing_of_an_entry_is_not_taken_for_success(answer: dict[str, Any]) -> None:
    with pytest.raises(PublishIncomplete) as caught:
        publisher(Bus(lambda _n, _ids: {**answer, "Entries": answer["Entries"] or []}), max_tries=2).publish([entry(1)])
    assert caught.value.unpublished == {"id-1": "unreadable_answer"}


@pytest.mark.parametrize(
    "passing",
    [
        error("ThrottlingException"),
        error("InternalException"),
        EndpointConnectionError(endpoint_url="https://bus"),
        ReadTimeoutError(endpoint_url="https://bus"),
    ],
)
def test_a_request_that_failed_for_a_passing_reason_is_sent_again_whole(passing: Exception) -> None:
    bus = Bus(lambda number, ids: passing if number == 1 else accepted(ids))
    publisher(bus).publish([entry(1), entry(2)])
    assert bus.requests == [["id-1", "id-2"]] * 2


@pytest.mark.parametrize("code", ["InvalidInputException", "AccessDeniedException", "ResourceNotFoundException"])
def test_a_request_that_is_wrong_is_not_repeated_and_the_message_of_the_service_is_not_passed_on(code: str) -> None:
    bus = Bus(lambda _n, _ids: error(code))
    with pytest.raises(PublishRefused, match=code) as caught:
        publisher(bus).publish([entry(1)])
    assert len(bus.requests) == 1
    assert "canary" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_the_real_client_refusing_its_parameters_is_a_wrong_request() -> None:
    client = boto3.client("eventbridgev2", region_name="eu-west-1", aws_access_key_id="a", aws_secret_access_key="b")
    with pytest.raises(PublishRefused, match="ParamValidationError"):
        Publisher(client, BUS).publish([Entry("", "t", {})])


def test_an_entry_that_no_repeat_can_mend_is_named_after_the_rest_is_published() -> None:
    def reply(number: int, ids: list[str]) -> Answer:
        codes = {"id-1": "VALIDATION_ERROR", "id-2": "Throttled" if number == 1 else ""}
        return {"Entries": [{"ErrorCode": c} if (c := codes.get(i)) else {"EventId": i} for i in ids]}

    bus = Bus(reply)
    with pytest.raises(PublishIncomplete) as caught:
        publisher(bus).publish([entry(1), entry(2), entry(3)])
    assert caught.value.unpublished == {"id-1": "VALIDATION_ERROR"}
    assert bus.requests == [["id-1", "id-2", "id-3"], ["id-2"]]
    assert bus.accepted == {"id-2", "id-3"}


def test_what_stays_unpublished_is_named_after_a_bounded_number_of_tries_with_growing_pauses() -> None:
    pauses = Pauses()
    bus = Bus(lambda _n, ids: {"Entries": [{"ErrorCode": "Throttled"} if i == "id-2" else {"EventId": i} for i in ids]})
    with pytest.raises(PublishIncomplete, match="1 entries were not published") as caught:
        publisher(bus, pauses, max_tries=8).publish([entry(1), entry(2)])
    assert caught.value.unpublished == {"id-2": "Throttled"}
    assert len(bus.requests) == 8
    assert pauses.taken == sorted(pauses.taken)
    assert len(pauses.taken) == 7
    assert sum(pauses.taken) < 15


def test_an_entry_above_the_limit_is_refused_by_name_before_anything_is_sent() -> None:
    bus = Bus()
    with pytest.raises(EntryTooLarge, match="id-2"):
        publisher(bus).publish([entry(1), entry(2, "x" * MAX_REQUEST_BYTES)])
    assert bus.requests == []


# --- whatever the bus does -----------------------------------------------------------------------------------------

_client = boto3.client("eventbridgev2", region_name="eu-west-1", aws_access_key_id="a", aws_secret_access_key="b")
_operation = _client.meta.service_model.operation_model("PutEvents")
_serializer = create_serializer("smithy-rpc-v2-cbor")


def bytes_on_the_wire(entries: Sequence[Mapping[str, Any]]) -> int:
    request = {"EventBusArn": BUS, "Entries": entries}
    return len(_serializer.serialize_to_request(request, _operation)["body"])


texts = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["x", "é", "漢", "😀", '"', "\x01"]).flatmap(
        lambda letter: st.integers(0, 120_000).map(lambda n: letter * n)
    ),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(texts, max_size=25), st.integers(1, 8))
def test_no_request_exceeds_the_limits_as_botocore_serializes_it(some: list[str], repeat: int) -> None:
    entries = [entry(n, text) for n, text in enumerate(some * repeat) if Entry("x", "t", {"": text}).size < 900_000]
    bus = Bus()
    publisher(bus).publish(entries)
    assert [name for ids in bus.requests for name in ids] == [e.dedup_id for e in entries]
    for sent in bus.bodies:
        assert len(sent) <= MAX_ENTRIES
        assert bytes_on_the_wire(sent) <= MAX_REQUEST_BYTES
    for request in packed(entries, BUS):
        assert sum(e.size for e in request) + 64 + len(BUS) >= bytes_on_the_wire(
            next(body for body in bus.bodies if body[0]["SystemMetadata"]["DeduplicationId"] == request[0].dedup_id)
        )


results = st.sampled_from(["PUBLISHED", "DEDUPLICATED", "throttled", "unknown_code", "silent"])


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 230), st.data())
def test_whatever_fails_every_entry_is_accepted_or_named_and_nothing_accepted_is_sent_again(
    count: int, data: st.DataObject
) -> None:
    whole = data.draw(st.lists(st.sampled_from(["ok", "throttled", "dropped"]), max_size=8))

    def reply(number: int, ids: list[str]) -> Answer:
        fate = whole[number - 1] if number <= len(whole) else "ok"
        if fate == "throttled":
            return error("ThrottlingException")
        if fate == "dropped":
            return ReadTimeoutError(endpoint_url="https://bus")
        return {"Entries": list(_answers(data, ids))}

    bus = Bus(reply)
    unpublished: dict[str, str] = {}
    try:
        publisher(bus, max_tries=4).publish([entry(n) for n in range(count)])
    except PublishIncomplete as incomplete:
        unpublished = incomplete.unpublished
    everything = {f"id-{n}" for n in range(count)}
    assert bus.accepted | set(unpublished) == everything
    assert not bus.accepted & set(unpublished)
    assert all(len(ids) <= MAX_ENTRIES for ids in bus.requests)
    seen: set[str] = set()
    for ids, answered in zip(bus.requests, bus.accepted_by_request, strict=True):
        assert not seen & set(ids), "an accepted entry was sent again"
        seen |= answered


def _answers(data: st.DataObject, ids: list[str]) -> Iterator[dict[str, Any]]:
    bad = data.draw(st.dictionaries(st.sampled_from(ids), results, max_size=6)) if ids else {}
    for name in ids:
        fate = bad.get(name, "PUBLISHED")
        if fate in ("PUBLISHED", "DEDUPLICATED"):
            yield {"EventId": name, "SuccessCode": fate}
        else:
            yield {} if fate == "silent" else {"ErrorCode": fate}
