"""The files named on the command line, checked before anything is started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cli.errors import CommandError
from functions.text import one_line


@dataclass(frozen=True, slots=True)
class InputFile:
    """A readable file; `given` is how it was named."""

    given: str
    path: Path

    @property
    def object_key(self) -> str:
        return f"uploads/{self.path.name}"


def input_files(paths: Sequence[Path]) -> list[InputFile]:
    """Raises CommandError for the first that cannot be uploaded."""
    return [_input_file(path) for path in paths]


def _input_file(path: Path) -> InputFile:
    shown = one_line(str(path))
    if path.is_dir():
        raise CommandError(f"{shown} is a folder; name a CSV file in it.")
    if not path.exists():
        raise CommandError(f"{shown} does not exist.")
    if not path.is_file():
        raise CommandError(f"{shown} is not a regular file.")
    try:
        with path.open("rb") as stream:
            empty = stream.read(1) == b""
    except OSError as error:
        raise CommandError(f"{shown} cannot be read: {(error.strerror or 'input/output error').lower()}.") from None
    if empty and path.suffix.lower() != ".csv":
        raise CommandError(f"{shown} is empty; empty objects that are not named .csv are markers and never an upload.")
    try:
        path.name.encode()
    except UnicodeEncodeError:
        raise CommandError(f"{shown} has a name that is not UTF-8; rename the file.") from None
    return InputFile(str(path), path)


def results_folder(path: Path) -> Path:
    """Where results will be written. Raises CommandError where that can never be a folder."""
    if path.exists() and not path.is_dir():
        raise CommandError(f"{one_line(str(path))} is not a folder; results cannot be written there.")
    return path
