"""From a queue: each record by itself, and what no delivery can mend in the dead-letter queue by name."""

from __future__ import annotations

import json
from typing import Any

import boto3
import pytest

from functions.refunds import errors
from functions.refunds.adapters.inbox import Inbox
from functions.refunds.adapters.paying import Paying
from functions.refunds.adapters.queue import QueueWorker
from functions.refunds.answer import Answer
from functions.refunds.keys import mint_request_id
from functions.refunds.providers.protocol import Reply
from functions.refunds.request import RefundRequest

from .calling import INVOCATION_S, KINDS, Told, approved, asked, bad_requests, held_by_another, message, paying
from .world import World

PAID, LOST = Reply("succeeded", refund_id="re_1"), Reply("unknown", "connection_lost")
BUSY, REFUSED = Reply("released", "rate_limited", retry_after_s=7), Reply("failed", "charge_already_refunded")

MAX_RECEIVES = 3


class Queues:
    """Both queues on moto, and what is asked of SQS."""

    def __init__(self) -> None:
        self.client: Any = boto3.client("sqs", region_name="eu-west-1")
        made = [self.client.create_queue(QueueName=mint_request_id()) for _ in range(2)]
        self.url, self.dlq = (each["QueueUrl"] for each in made)
        self.inbox = Inbox(self.client, self.url, self.dlq)

    def received(self, *bodies: object) -> list[dict[str, Any]]:
        """The bodies as records of one batch, really received, so that their visibility can be changed."""
        for body in bodies:
            self.client.send_message(QueueUrl=self.url, MessageBody=message(body)["body"])
        got = self.client.receive_message(
            QueueUrl=self.url, MaxNumberOfMessages=10, AttributeNames=["ApproximateReceiveCount"]
        )["Messages"]
        return [
            {
                "messageId": each["MessageId"],
                "receiptHandle": each["ReceiptHandle"],
                "body": each["Body"],
                "attributes": each["Attributes"],
            }
            for each in got
        ]

    def dead(self) -> list[tuple[str, str]]:
        """Body and reason of every dead letter."""
        found = self.client.receive_message(
            QueueUrl=self.dlq, MaxNumberOfMessages=10, MessageAttributeNames=["All"]
        ).get("Messages", [])
        return [(each["Body"], each["MessageAttributes"]["reason"]["StringValue"]) for each in found]

    def hidden_s(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """Every change of a message's visibility from now on, in seconds."""
        changed: list[int] = []
        change = self.inbox.come_back

        def kept(receipt: str, seconds: int) -> None:
            change(receipt, seconds)
            changed.append(seconds)

        monkeypatch.setattr(self.inbox, "come_back", kept)
        return changed


@pytest.fixture
def queues(aws: object) -> Queues:
    return Queues()


def handle(world: World, queues: Queues, records: list[dict[str, Any]], told: Told | None = None) -> list[str]:
    """Ids of the messages that come again."""
    told = told or Told()
    worker = QueueWorker(paying(world, told), queues.inbox, told, max_receives=MAX_RECEIVES)
    answer = worker.handle(records, deadline=world.now + INVOCATION_S)
    return [each["itemIdentifier"] for each in answer["batchItemFailures"]]


def test_in_a_batch_of_five_the_third_comes_again_and_the_others_are_paid_once(world: World, queues: Queues) -> None:
    first, provider = approved(world, PAID, PAID, BUSY, PAID, PAID, PAID)
    actions = [first, *(world.approve() for _ in range(4))]
    records = [message(asked(action), number) for number, action in enumerate(actions, 1)]
    # The third is told when to come again, for which its receipt must be real.
    records[2]["receiptHandle"] = queues.received(asked(actions[2]))[0]["receiptHandle"]
    assert handle(world, queues, records) == ["m3"]
    assert handle(world, queues, records) == []
    assert (provider.sent, len(world.rows())) == (6, 5)
    assert queues.dead() == []


def test_the_same_action_twice_in_a_batch_is_one_refund(world: World, queues: Queues) -> None:
    action, provider = approved(world, PAID)
    assert handle(world, queues, [message(asked(action), number) for number in (1, 2)]) == []
    assert (provider.sent, len(world.rows())) == (1, 1)


@pytest.mark.parametrize("kind", [*KINDS, "no JSON", "JSON without an end"])
def test_what_no_delivery_can_mend_is_a_dead_letter_with_its_reason_and_moves_nothing(
    world: World, queues: Queues, kind: str
) -> None:
    action, provider = approved(world)
    bad = {**bad_requests(action), "no JSON": ("refund!", "InvalidRequestError")}
    bad["JSON without an end"] = ("[" * 100_000, "InvalidRequestError")
    given, name = bad[kind]
    before = world.rows("")
    sent = message(given)
    assert handle(world, queues, [sent]) == []
    assert queues.dead() == [(sent["body"], getattr(errors, name).code)]
    assert (world.rows(""), provider.sent) == (before, 0)


def test_what_is_released_comes_again_when_the_provider_said(
    world: World, queues: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    action, _ = approved(world, BUSY, PAID)
    records, hidden = queues.received(asked(action)), queues.hidden_s(monkeypatch)
    assert handle(world, queues, records) == [records[0]["messageId"]]
    assert hidden == [7]
    assert handle(world, queues, records) == []
    assert len(world.rows()) == 1


def test_what_somebody_else_is_paying_comes_again_after_their_lease(
    world: World, queues: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    action, provider = approved(world)
    held_by_another(world, action)
    records, hidden = queues.received(asked(action)), queues.hidden_s(monkeypatch)
    assert handle(world, queues, records) == [records[0]["messageId"]]
    assert 25 <= hidden[0] <= 60
    assert provider.sent == 0


def test_an_unknown_one_is_acknowledged_for_the_reconciler_has_it(world: World, queues: Queues) -> None:
    action, _ = approved(world, LOST)
    told = Told()
    assert handle(world, queues, [message(asked(action))], told) == []
    assert (queues.dead(), told.metrics) == ([], ["RefundsUnknown"])
    assert [each.request_id for each in world.ledger.open_actions()] == [action.request_id]


def test_one_that_failed_for_good_is_a_dead_letter_so_that_somebody_hears(world: World, queues: Queues) -> None:
    action, _ = approved(world, REFUSED)
    assert handle(world, queues, [message(asked(action))]) == []
    assert queues.dead() == [(json.dumps(asked(action)), "refund_failed")]


def test_a_fault_of_one_record_is_that_records_alone(world: World, queues: Queues) -> None:
    # The second call of the provider has no reply left, and raises.
    actions = [approved(world, PAID)[0], world.approve()]
    told = Told()
    assert handle(world, queues, [message(asked(each), number) for number, each in enumerate(actions, 1)], told) == [
        "m2"
    ]
    assert told.lines == [
        ("RefundsDone", {"request_id": actions[0].request_id, "reason": ""}),
        ("RefundErrors", {"message_id": "m2", "error": "IndexError"}),
    ]


@pytest.mark.parametrize("reply", [BUSY, None], ids=["not begun", "a fault of its own"])
def test_what_redrive_takes_after_the_last_receive_is_told_and_nothing_before_it(
    world: World, queues: Queues, monkeypatch: pytest.MonkeyPatch, reply: Reply | None
) -> None:
    action, _ = approved(world, *([reply] * MAX_RECEIVES if reply else []))
    queues.hidden_s(monkeypatch)
    monkeypatch.setattr(queues.client, "change_message_visibility", lambda **_: None)
    ends = []
    for receives in range(1, MAX_RECEIVES + 1):
        told = Told()
        assert handle(world, queues, [message(asked(action), receives=receives)], told) == ["m1"]
        ends.append(("MessagesGivenUp", {"message_id": "m1"}) in told.lines)
    assert ends == [False, False, True]


def test_one_that_is_settled_on_its_last_receive_is_not_given_up(world: World, queues: Queues) -> None:
    action, _ = approved(world, PAID)
    told = Told()
    assert handle(world, queues, [message(asked(action), receives=MAX_RECEIVES)], told) == []
    assert told.metrics == ["RefundsDone"]


def test_a_busy_ledger_is_no_refusal_for_the_refund_may_have_been_paid(queues: Queues) -> None:
    def busy(_request: RefundRequest, *, deadline: float) -> Answer:
        raise errors.LedgerBusyError

    told = Told()
    request = {"request_id": mint_request_id(), "order_id": "A-1", "amount_minor": 1, "currency": "EUR"}
    worker = QueueWorker(Paying(busy, told), queues.inbox, told, max_receives=MAX_RECEIVES)
    answer = worker.handle([message(request)], deadline=INVOCATION_S)
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m1"}]}
    assert (told.metrics, queues.dead()) == (["RefundsBusy"], [])
