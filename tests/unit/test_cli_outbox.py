"""The local outbox: what topics send is kept and still sent, and shown as the mails it would have been."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from cli import local_commands
from cli.main import app
from local.outbox import KEPT, Notice, Outbox


def an_outbox() -> tuple[Outbox, Any, list[tuple[Any, ...]]]:
    sent: list[tuple[Any, ...]] = []
    emulator: Any = SimpleNamespace(sns=SimpleNamespace(_fanout=lambda *arguments: sent.append(arguments)))
    outbox = Outbox(emulator, clock=lambda: 60.0)
    outbox.install()
    return outbox, emulator.sns._fanout, sent


def test_a_message_is_kept_and_goes_on_to_the_subscribers() -> None:
    outbox, fanout, sent = an_outbox()
    fanout("arn:aws:sns:r:1:alerts", "id", "the text", "the subject", "", {})
    assert outbox.listing() == [{"at": 60.0, "topic": "alerts", "subject": "the subject", "text": "the text"}]
    assert sent == [("arn:aws:sns:r:1:alerts", "id", "the text", "the subject", "", {})]


def test_the_oldest_messages_are_forgotten() -> None:
    outbox, fanout, _ = an_outbox()
    for number in range(KEPT + 5):
        fanout("arn:alerts", "id", str(number), "s")
    assert len(outbox.listing()) == KEPT
    assert outbox.listing()[0]["text"] == "5"


@pytest.fixture
def notices(monkeypatch: pytest.MonkeyPatch) -> list[Notice]:
    found = [Notice(0.0, "alerts", "First", "one\nline"), Notice(61.0, "alerts", "Second [b]", "two\x1b[2J\nof two")]
    monkeypatch.setattr(local_commands, "running_here", lambda: SimpleNamespace(outbox=lambda: found))
    return found


def test_notices_are_shown_in_order_and_do_not_drive_the_terminal(notices: list[Notice]) -> None:
    shown = CliRunner().invoke(app, ["local", "outbox"]).stdout
    assert shown.index("1970-01-01T00:00:00Z") < shown.index("First") < shown.index("line") < shown.index("Second [b]")
    assert "\x1b" not in shown
    assert "of two" in shown.splitlines()


def test_the_last_ones_keep_their_numbers(notices: list[Notice]) -> None:
    shown = CliRunner().invoke(app, ["local", "outbox", "--last", "1"]).stdout
    assert "2 of 2" in shown
    assert "First" not in shown


def test_the_json_has_the_documented_members(notices: list[Notice]) -> None:
    found = json.loads(CliRunner().invoke(app, ["local", "outbox", "--json"]).stdout)
    assert found["notices"][0] == {
        "at": "1970-01-01T00:00:00Z",
        "topic": "alerts",
        "subject": "First",
        "text": "one\nline",
    }


def test_an_empty_outbox_says_so(notices: list[Notice]) -> None:
    notices.clear()
    assert "Nothing would have been mailed yet." in CliRunner().invoke(app, ["local", "outbox"]).stdout
