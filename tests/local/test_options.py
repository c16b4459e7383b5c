"""Who answers instead of Claude, and what is refused before anything starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from local.cloud import LocalCloud
from local.errors import LocalCloudError
from local.options import LocalCloudOptions


def test_nobody_but_the_stand_in_answers_unless_it_is_asked_for() -> None:
    options = LocalCloudOptions()
    environ = {"ANTHROPIC_API_KEY": "a real one"}
    assert options.claude_url(environ) is None
    assert options.claude_key(environ) != "a real one"


def test_the_real_claude_needs_a_key() -> None:
    options = LocalCloudOptions(real_claude=True)
    assert options.claude_url({}) == "https://api.anthropic.com"
    assert options.claude_key({"ANTHROPIC_API_KEY": "key"}) == "key"
    with pytest.raises(LocalCloudError, match="set ANTHROPIC_API_KEY"):
        options.claude_key({})


def test_the_callers_endpoint_answers_when_it_names_one() -> None:
    environ = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    assert LocalCloudOptions().claude_url(environ) == "http://127.0.0.1:9"
    assert LocalCloudOptions(real_claude=True).claude_url(environ) == "http://127.0.0.1:9"


def test_a_script_without_the_stand_in_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    script = tmp_path / "script.json"
    script.write_text("[]")
    with pytest.raises(LocalCloudError, match="A script is for the stand-in"):
        LocalCloudOptions(claude_script=script).server_settings()
    with pytest.raises(LocalCloudError, match="A script is for the stand-in"):
        LocalCloudOptions(claude_rules=[{"when": {"request": 1}, "then": {"text": "hot"}}]).server_settings()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (LocalCloudOptions(port=70000), "port"),
        (LocalCloudOptions(handlers=0), "handlers"),
        (LocalCloudOptions(tick_s=0), "tick_s"),
        (LocalCloudOptions(claude_script=Path("missing.json")), "cannot be read"),
        (LocalCloudOptions(claude_rules=[{"when": {}}]), "Rule 1 of the script"),
        (LocalCloudOptions(service_faults=[{"when": {}}]), "Fault rule 1"),
    ],
)
def test_what_cannot_be_used_is_one_sentence_before_anything_starts(options: LocalCloudOptions, says: str) -> None:
    stages: list[str] = []
    with pytest.raises(LocalCloudError, match=says):
        LocalCloud(options, progress=stages.append).start()
    assert stages == []


def test_a_faulty_script_names_its_rule(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"when": {"request": 1}, "then": {}}]))
    with pytest.raises(LocalCloudError, match="Rule 1 of the script"):
        LocalCloud(LocalCloudOptions(claude_script=script)).start()
