"""The results of an upload as a file here: the final ones, or what there is so far."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from cli.errors import NotSoError
from cli.files import write_whole
from cli.finding import Finder
from cli.inputs import results_folder
from cli.partial import SoFar
from cli.running import results_chunks
from cli.sentences import code_of
from functions.uploads.model import Upload


@dataclass(frozen=True, slots=True)
class Download:
    """A written file. Not `complete`: `ended` of its valid rows have ended, the others are marked open in it."""

    path: Path
    upload_id: str
    state: str
    complete: bool
    ended: int
    valid: int

    def to_json(self) -> dict[str, Any]:
        return {
            "upload_id": self.upload_id,
            "state": self.state,
            "complete": self.complete,
            "ended": self.ended,
            "valid": self.valid,
            "results_csv": str(self.path),
        }


def download(finder: Finder, upload: Upload, out: Path) -> Download:
    """Write `<out>/<upload id>.csv`, `<out>/<upload id>.so-far.csv` for one that is not done, or the very file named.

    Raises CommandError where it cannot be written, and what S3 and the table raise.
    """
    done, valid = upload.state == "done", upload.counts.valid
    path = out if out.suffix.lower() == ".csv" else results_folder(out) / _name(upload, done=done)
    if done:
        _write(upload, path, results_chunks(finder.s3, upload))
        return Download(path, upload.upload_id, upload.state, complete=True, ended=valid, valid=valid)
    so_far = SoFar(finder.s3, finder.table, upload)
    _write(upload, path, so_far.chunks())
    return Download(path, upload.upload_id, upload.state, complete=False, ended=so_far.tally.terminal, valid=valid)


def _write(upload: Upload, path: Path, chunks: Iterable[bytes]) -> None:
    try:
        write_whole(path, chunks)
    except ClientError as error:
        if code_of(error) != "NoSuchKey":
            raise
        raise NotSoError(f"The results of {upload.upload_id} are not kept any more.") from None


def _name(upload: Upload, *, done: bool) -> str:
    # Another name, so that nobody takes half of the results for all of them.
    return f"{upload.upload_id}.csv" if done else f"{upload.upload_id}.so-far.csv"
