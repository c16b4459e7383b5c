"""`docs/alarms.md` says of every alarm what its template says."""

from __future__ import annotations

from pathlib import Path

import pytest

from stacks.alarm_document import document, main
from tests.stacks.templates import ROOT, Templates


def test_the_document_is_what_the_templates_say(templates: Templates) -> None:
    written = (ROOT / "docs" / "alarms.md").read_text()
    again = "write it anew: python app.py && python -m stacks.alarm_document cdk.out > docs/alarms.md"
    assert written == document(templates.folder), again


def test_it_lists_every_alarm_whatever_the_deployment_is_called(other_templates: Templates) -> None:
    rows = [line for line in document(other_templates.folder).splitlines() if line.startswith("| ")][1:]
    names = {alarm.properties["AlarmName"] for alarm in other_templates.of_type("AWS::CloudWatch::Alarm")}
    assert {f"Trial-{row.split(' | ')[0].removeprefix('| ')}" for row in rows} == names
    assert all(row.count(" | ") == 2 for row in rows)


def test_a_folder_without_a_synth_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert "name the folder of one synth" in capsys.readouterr().err
