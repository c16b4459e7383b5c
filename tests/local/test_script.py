"""The format of a `--claude` script: each fault is one sentence with the rule's number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from local.claude.script import Then, parse_script, read_script
from local.errors import ScriptError

ANSWER = {"text": "hot"}


def test_every_form_of_the_design_is_read() -> None:
    rules = parse_script(
        [
            {"when": {"contains": "Ada"}, "times": 2, "then": {"text": "", "stop_reason": "max_tokens"}},
            {"when": {"request": 3}, "then": {"status": 529, "type": "overloaded_error", "headers": {"a": "b"}}},
            {"when": {"request": 4}, "then": {"drop": "after_reading"}},
            {"when": {"request": 5}, "then": {"delay_s": 1.5}},
            {"when": {"request": 6}, "then": {"text": "hot", "usage": {"input_tokens": 9}, "delay_s": 1}},
        ]
    )
    assert (rules[0].contains, rules[0].times, rules[0].then.text) == ("Ada", 2, "")
    assert rules[1].then == Then(status=529, error_type="overloaded_error", headers={"a": "b"})
    assert rules[2].then.drop == "after_reading"
    assert rules[3].then == Then(delay_s=1.5)
    assert (rules[4].then.usage, rules[4].then.delay_s) == ({"input_tokens": 9}, 1.0)


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("x", "is not an object"),
        ({"when": {"request": 1}, "then": ANSWER, "note": 1}, "has note, which no rule knows"),
        ({"then": ANSWER}, "when is not an object with either contains or request"),
        ({"when": {"request": 1, "contains": "a"}, "then": ANSWER}, "when is not an object with either"),
        ({"when": {"row": 1}, "then": ANSWER}, "has when.row, which no rule knows"),
        ({"when": {"contains": ""}, "then": ANSWER}, "when.contains is not a text"),
        ({"when": {"request": 0}, "then": ANSWER}, "when.request is not a whole number of at least 1"),
        ({"when": {"request": True}, "then": ANSWER}, "when.request is not a whole number of at least 1"),
        ({"when": {"request": 1}, "times": 0, "then": ANSWER}, "times is not a whole number of at least 1"),
        ({"when": {"request": 1}}, "then is not an object that says what to answer"),
        ({"when": {"request": 1}, "then": {}}, "then is not an object that says what to answer"),
        ({"when": {"request": 1}, "then": {"text": "a", "status": 500}}, "then mixes an answer, an error and a drop"),
        ({"when": {"request": 1}, "then": {"drop": "after_reading", "delay_s": 1}}, "then mixes"),
        ({"when": {"request": 1}, "then": {"type": "api_error"}}, "then describes an error without a status"),
        ({"when": {"request": 1}, "then": {"status": 99}}, "then.status is not an HTTP status from 200 to 599"),
        ({"when": {"request": 1}, "then": {"drop": "now"}}, "then.drop is not one of before_reading, after_reading"),
        ({"when": {"request": 1}, "then": {"delay_s": -1}}, "then.delay_s is not a number of seconds"),
        ({"when": {"request": 1}, "then": {"stop_reason": "tired"}}, "then.stop_reason is not one of end_turn"),
        ({"when": {"request": 1}, "then": {"usage": {"input_tokens": "9"}}}, "then.usage is not an object of token"),
        ({"when": {"request": 1}, "then": {"status": 429, "headers": {"retry-after": 2}}}, "then.headers is not"),
        (
            {"when": {"request": 1}, "then": {"colour": "hot"}},
            "has then.colour, which no rule knows; known are body, code, delay_s, drop, headers, message, status, "
            "stop_reason, text, type, usage.",
        ),
        (
            {"when": {"request": 1}, "then": {"usage": {"input": 5}}},
            "then.usage is not an object of token counts, which",
        ),
        ({"when": {"request": 1}, "then": {"delay_s": float("inf")}}, "then.delay_s is not a number of seconds from 0"),
        ({"when": {"request": 1}, "then": {"delay_s": float("nan")}}, "then.delay_s is not a number of seconds from 0"),
        ({"when": {"request": 1}, "then": {"delay_s": 10**400}}, "then.delay_s is not a number of seconds from 0"),
        ({"when": {"request": 1}, "then": {"text": "\ud800"}}, "then.text is not a text"),
        ({"when": {"contains": "\ud800"}, "then": ANSWER}, "when.contains is not a text"),
        ({"when": {"request": 1}, "then": {"\ud800": 1}}, "has then.\\ud800, which no rule knows"),
        ({"when": {"request": 1}, "then": {"status": 429, "headers": {"a\n": "b"}}}, "then.headers is not"),
        ({"when": {"request": 1}, "then": {"status": 429, "headers": {"a": "b\r\nc: d"}}}, "then.headers is not"),
    ],
)
def test_a_faulty_rule_is_named_by_its_number(rule: Any, says: str) -> None:
    with pytest.raises(ScriptError) as refused:
        parse_script([{"when": {"request": 9}, "then": ANSWER}, rule])
    assert str(refused.value).startswith(f"Rule 2 of the script: {says}")
    assert str(refused.value).endswith(".")


def test_the_documented_script_is_one() -> None:
    text = (Path(__file__).parents[2] / "docs" / "local.md").read_text(encoding="utf-8")
    script = text.partition("```json\n")[2].partition("```")[0]
    assert len(parse_script(json.loads(script))) == 6


def test_a_script_is_a_list() -> None:
    with pytest.raises(ScriptError, match="A script is a JSON list of rules"):
        parse_script({"when": {}})


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match="cannot be read"):
        read_script(tmp_path / "missing.json")
    good = tmp_path / "good.json"
    good.write_text(json.dumps([{"when": {"request": 1}, "then": ANSWER}]))
    assert len(read_script(good)) == 1


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"[\n{", "is not JSON: at line 2, column 2: Expecting property name enclosed in double quotes."),
        (b"[" * 100_000, "is no script: its lists or objects are nested too deeply."),
        (b'{"a":' * 100_000, "is no script: its lists or objects are nested too deeply."),
        (b'["\xff"]', "is not UTF-8 text; save it as UTF-8."),
        ("[]".encode("utf-16"), "is not UTF-8 text; save it as UTF-8."),
        (b"[" + b"9" * 5000 + b"]", "holds a number with too many digits."),
    ],
)
def test_a_file_that_is_no_script_is_one_sentence(tmp_path: Path, content: bytes, says: str) -> None:
    broken = tmp_path / "broken.json"
    broken.write_bytes(content)
    with pytest.raises(ScriptError) as refused:
        read_script(broken)
    assert str(refused.value) == f"The script {broken} {says}"


def test_the_mark_that_some_editors_put_in_front_is_no_fault(tmp_path: Path) -> None:
    marked = tmp_path / "marked.json"
    marked.write_bytes(b"\xef\xbb\xbf[]")
    assert read_script(marked) == []
