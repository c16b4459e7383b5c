"""Every outside call of `functions/` stands between crash points of its own: a new one without them fails here."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.calls import Source
from tests.effects.crossings import found, read


def package(folder: Path, text: str) -> Source:
    """A package of one module."""
    (folder / "functions").mkdir()
    (folder / "functions" / "module.py").write_text(text)
    return Source(folder / "functions")


def test_every_outside_call_stands_in_a_crossing() -> None:
    assert found().bare == []
    assert found().odd == []


def test_a_crossing_has_its_name_alone() -> None:
    places = Counter(each.name for each in found().named)
    assert [name for name, number in places.items() if number > 1] == []


def test_a_name_says_the_folder_that_calls() -> None:
    for each in found().named:
        assert each.name.partition(".")[0] == each.module.split(".")[1], each


def test_a_body_is_read_in_one_place() -> None:
    source = Source(Path("functions").resolve())
    reads = [
        f"{module}: {ast.unparse(each)}"
        for module, tree in source.modules.items()
        for each in ast.walk(tree)
        if isinstance(each, ast.Subscript) and ast.unparse(each.slice) == "'Body'"
    ]
    assert reads == ["functions.intake.source: answer['Body']"]


def test_the_request_leaves_from_one_place_and_is_marked_sent_before_its_point() -> None:
    source = Source(Path("functions").resolve())
    requests = [
        module
        for module, tree in source.modules.items()
        for each in ast.walk(tree)
        if isinstance(each, ast.Attribute) and each.attr == "with_raw_response"
    ]
    assert requests == ["functions.classify.claude"]
    bodies = [
        [ast.unparse(statement) for statement in each.body]
        for each in ast.walk(source.modules["functions.classify.effect"])
        if isinstance(each, ast.FunctionDef)
    ]
    [sending] = [body for body in bodies if "run.mark_sent()" in body]
    assert sending[-3:] == ["run.mark_sent()", "reach('classify.model.leaving')", "return True"]


@pytest.mark.parametrize(
    "text",
    [
        "def call(client, s3):\n    s3.get_object()\n",
        "def call(s3):\n    with crossing('a.b'):\n        later = lambda: s3.get_object()\n",
        "def call(s3):\n    with crossing('a.b'):\n        pass\n    s3.get_object()\n",
        "def call(ask):\n    ask({})\n",
        "def call(body):\n    next(body)\n",
    ],
)
def test_a_call_without_a_crossing_is_found(tmp_path: Path, text: str) -> None:
    [bare] = read(package(tmp_path, text)).bare
    assert bare.startswith("functions.module:")


def test_the_name_that_plumbing_is_given_is_the_callers(tmp_path: Path) -> None:
    text = (
        "class Table:\n"
        "    def get(self):\n        return self._try('a.get')\n"
        "    def odd(self):\n        return self._try('a.' + 'odd')\n"
        "    def _try(self, operation):\n        return self._call(operation, 1)\n"
        "    def _call(self, operation, key):\n"
        "        with crossing(operation):\n            return self._client.get_item(key)\n"
    )
    read_of_it = read(package(tmp_path, text))
    assert [each.name for each in read_of_it.named] == ["a.get"]
    assert read_of_it.odd == ["functions.module:5 'a.' + 'odd'"]
    assert read_of_it.bare == []
