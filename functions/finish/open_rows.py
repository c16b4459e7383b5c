"""The rows of an upload that have not ended, as questions of its task, in the order of the file."""

from __future__ import annotations

from collections.abc import Iterator

from functions.classify.task import Task
from functions.finish.rows import OpenSource, RowItems, read_rows
from functions.intake.questions import Question, Questions
from functions.uploads.model import Upload


def open_questions(
    upload: Upload, task: Task, open_source: OpenSource, table: RowItems, *, behind: int
) -> Iterator[Question]:
    """Of the rows that were published, those without an item whose number is greater than `behind`."""
    questions = Questions(task)
    for result in read_rows(upload, open_source, table):
        if result.outcome == "open" and behind < result.record.number <= upload.checkpoint:
            yield questions.of(result.record)
