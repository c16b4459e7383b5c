"""The script of the payment provider's stand-in: what is wrong in one is told in a sentence, with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from local.errors import ScriptError
from local.payments.script import Script, parse_script, read_script

WHEN = {"request": 1}


def test_an_empty_script_keeps_keys_for_a_day_and_has_no_rules() -> None:
    assert parse_script({}) == Script(keys_retention_s=86_400.0, rules=())


@pytest.mark.parametrize(
    ("script", "where"),
    [
        ([], "the script"),
        ({"keys": 1}, "keys"),
        ({"keys_retention_s": -1}, "keys_retention_s"),
        ({"rules": [{"when": {}, "then": {"drop": "after_applying"}}]}, "rules.0.when"),
        ({"rules": [{"when": {"request": 0}, "then": {"drop": "after_applying"}}]}, "rules.0.when.request"),
        ({"rules": [{"when": WHEN, "then": {"drop": "sometimes"}}]}, "rules.0.then"),
        ({"rules": [{"when": WHEN, "then": {"status": 99}}]}, "rules.0.then"),
        ({"rules": [{"when": WHEN, "times": 0, "then": {"standing": "pending"}}]}, "rules.0.times"),
        ({"rules": [{"when": WHEN}]}, "rules.0.then"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(script: Any, where: str) -> None:
    with pytest.raises(ScriptError) as refused:
        parse_script(script)
    assert where in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_a_file_that_is_no_json_is_told_as_any_script(tmp_path: Path) -> None:
    path = tmp_path / "payments.json"
    path.write_text("{")
    with pytest.raises(ScriptError, match="is not JSON"):
        read_script(path)
    path.write_text(json.dumps({"rules": [{"when": WHEN, "then": {"delay_s": 2, "apply": "after"}}]}))
    assert parse_script(read_script(path)).rules[0].times is None
