"""What the stand-in answers and counts, without sockets."""

from __future__ import annotations

import json
from typing import Any

import pytest

from local.claude.scorer import label
from local.claude.script import parse_script
from local.claude.standin import Reply, StandIn

HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01"}


def message_request(row: dict[str, str], **changes: Any) -> bytes:
    text = f"<prospect>\n{json.dumps(row, ensure_ascii=True)}\n</prospect>"
    request = {
        "model": "claude-haiku-5-5",
        "max_tokens": 64,
        "system": 'Answer {"label": "cold"}.',
        "messages": [{"role": "user", "content": [{"type": "text", "text": text}]}],
        **changes,
    }
    return json.dumps(request).encode()


def ask(standin: StandIn, row: dict[str, str], **changes: Any) -> Reply:
    return standin.answer(standin.arrived(), HEADERS, message_request(row, **changes))


def text_of(reply: Reply) -> str:
    return str(json.loads(reply.body)["content"][0]["text"])


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"title": "CEO", "notes": "Wants a demo this quarter"}, "hot"),
        ({"title": "VP Sales", "notes": ""}, "warm"),
        ({"title": "Manager", "notes": "downloaded the whitepaper"}, "warm"),
        ({"title": "Student", "notes": "newsletter"}, "cold"),
        ({"title": "CEO", "notes": "not interested, unsubscribe"}, "cold"),
        ({"title": "Ceota", "notes": "predemolition"}, "cold"),
        ({}, "cold"),
    ],
)
def test_the_scorer_follows_its_stated_rules(row: dict[str, str], expected: str) -> None:
    assert label(row) == expected


def test_without_a_rule_the_scorer_answers_as_the_schema_says() -> None:
    schema = {"type": "object", "properties": {"label": {"type": "string", "enum": ["hot", "warm", "cold"]}}}
    output = {"format": {"type": "json_schema", "schema": schema}}
    reply = ask(StandIn(), {"title": "CEO", "notes": "demo"}, output_config=output)
    message = json.loads(reply.body)
    assert json.loads(text_of(reply)) == {"label": "hot"}
    assert (message["stop_reason"], message["model"], message["type"]) == ("end_turn", "claude-haiku-5-5", "message")
    assert message["usage"]["input_tokens"] > 0


def test_labels_it_does_not_know_are_refused_not_guessed() -> None:
    output = {"format": {"schema": {"properties": {"label": {"enum": ["good", "bad"]}}}}}
    assert ask(StandIn(), {}, output_config=output).status == 400


@pytest.mark.parametrize("wanted", ['say "hi"', "Zoë", "a\\b", "two\nlines", "Ada Lovelace"])
def test_contains_sees_the_row_as_a_person_reads_it(wanted: str) -> None:
    rules = parse_script([{"when": {"contains": wanted}, "then": {"text": "found"}}])
    row = {"name": "Ada Lovelace", "notes": f"x {wanted} y"}
    assert text_of(ask(StandIn(rules), row)) == "found"
    assert text_of(ask(StandIn(rules), {"name": "Bob"})) != "found"


def test_the_first_rule_that_matches_answers_and_times_runs_out() -> None:
    rules = parse_script(
        [
            {"when": {"contains": "Ada"}, "times": 1, "then": {"text": "first"}},
            {"when": {"contains": "Ada"}, "times": 1, "then": {"text": "second"}},
            {"when": {"request": 3}, "then": {"text": "third"}},
        ]
    )
    standin = StandIn(rules)
    assert [text_of(ask(standin, {"name": "Ada"})) for _ in range(3)] == ["first", "second", "third"]
    assert json.loads(text_of(ask(standin, {"name": "Ada"}))) == {"label": "cold"}


@pytest.mark.parametrize(
    ("then", "counted", "billed"),
    [
        ({"text": "hot"}, 1, 1),
        ({"status": 400}, 1, 0),
        ({"status": 402}, 1, 0),
        ({"status": 429, "type": "rate_limit_error", "headers": {"retry-after": "2"}}, 1, 0),
        ({"status": 529, "type": "overloaded_error"}, 1, 0),
        ({"status": 503}, 1, 0),
        ({"status": 500}, 1, 1),
        ({"status": 529, "body": "<html>"}, 1, 1),
        ({"status": 200, "body": "<html>"}, 1, 1),
        ({"drop": "after_reading"}, 1, 1),
        ({"drop": "before_reading"}, 0, 0),
        ({"delay_s": 60}, 1, 1),
    ],
)
def test_what_was_read_counts_and_what_the_design_calls_unbilled_is_not_billed(
    then: dict[str, Any], counted: int, billed: int
) -> None:
    standin = StandIn(parse_script([{"when": {"contains": "Ada"}, "then": then}]))
    ask(standin, {"name": "Ada"})
    assert standin.counts() == {"model_requests": counted, "billed_requests": billed}


def test_errors_have_anthropics_body() -> None:
    standin = StandIn(parse_script([{"when": {"request": 1}, "then": {"status": 529, "type": "overloaded_error"}}]))
    body = json.loads(ask(standin, {}).body)
    assert (body["type"], body["error"]["type"]) == ("error", "overloaded_error")


def test_a_drop_before_reading_by_number_needs_no_body_unless_an_earlier_rule_looks_at_the_row() -> None:
    drop = {"when": {"request": 1}, "then": {"drop": "before_reading"}}
    alone = StandIn(parse_script([drop]))
    assert alone.drops_unread(alone.arrived())
    behind = StandIn(parse_script([{"when": {"contains": "Ada"}, "then": {"text": "hot"}}, drop]))
    assert not behind.drops_unread(behind.arrived())


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"anthropic-version": "v"}, message_request({}), 401),
        ({"x-api-key": "k"}, message_request({}), 400),
        (HEADERS, b"{", 400),
        (HEADERS, message_request({}, max_tokens=0), 400),
        (HEADERS, message_request({}, messages=[]), 400),
        (HEADERS, message_request({}, stream=True), 400),
    ],
)
def test_what_the_api_would_refuse_is_refused(headers: dict[str, str], body: bytes, status: int) -> None:
    standin = StandIn()
    assert standin.answer(standin.arrived(), headers, body).status == status
    assert standin.counts() == {"model_requests": 1, "billed_requests": 0}


def test_what_a_client_has_to_take_for_billed_is_all_that_arrived_but_unbilled_errors() -> None:
    script = [
        {"when": {"request": 1}, "then": {"status": 429, "code": "enforced_spend_limit_reached"}},
        {"when": {"request": 2}, "then": {"drop": "before_reading"}},
        {"when": {"request": 3}, "then": {"drop": "in_the_answer"}},
        {"when": {"request": 4}, "then": {"status": 429, "body": "<html>"}},
    ]
    standin = StandIn(parse_script(script))
    refused = ask(standin, {"name": "Ada"})
    assert json.loads(refused.body)["error"]["details"] == {"error_code": "enforced_spend_limit_reached"}
    assert standin.drops_unread(standin.arrived())
    for name in ("Ada", "Ada", "Ben"):
        ask(standin, {"name": name})
    assert standin.counts() == {"model_requests": 4, "billed_requests": 3}
    assert standin.in_doubt() == {"may_have_been_billed": 4, "worst_row": 2}
