"""Files in, reports out: each is uploaded, waited for, read back and its results downloaded, in the order given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cli.cloud import Cloud
from cli.files import write_whole
from cli.inputs import InputFile
from cli.progress import Progress
from cli.reports import FileReport, RunReport, file_report
from cli.uploading import Standing, Uploader
from functions.finish.storage import source_of
from functions.text import one_line
from functions.uploads.model import Upload


class Runner:
    """Runs files through a cloud. Results go to `<folder>/<upload_id>.csv`; seconds everywhere."""

    def __init__(self, cloud: Cloud, progress: Progress, folder: Path, patience_s: float) -> None:
        self._cloud = cloud
        self._progress = progress
        self._folder = folder
        self._patience_s = patience_s
        self._uploader = Uploader(cloud, patience_s=patience_s)

    def run(self, files: Sequence[InputFile]) -> RunReport:
        """One file after the other; those that did not end in time are reported as they stand."""
        return self.report([self.run_file(file) for file in files])

    def report(self, files: Sequence[FileReport]) -> RunReport:
        return RunReport(files, self._cloud.model_requests, self._cloud.dead_letters())

    def run_file(self, file: InputFile) -> FileReport:
        version = self._uploader.put(file)
        with self._progress.file(file.path.name) as watched:
            standing = self._uploader.wait(version, watched.update)
        if not standing.ended:
            self._progress.note(self._still_open(file, standing))
        results = self._download(standing.upload) if standing.upload else None
        return file_report(file.given, standing, source_of(self._uploader.s3), self._uploader.table, results)

    def _still_open(self, file: InputFile, standing: Standing) -> str:
        waited = f"after {self._patience_s:g} s in which nothing changed"
        if standing.upload is None:
            return f"{one_line(file.given)} has not been admitted {waited}; it is reported as running."
        valid = standing.upload.counts.valid
        return f"{one_line(file.given)}: {valid - standing.terminal} of {valid} valid rows are still open {waited}."

    def _download(self, upload: Upload) -> str | None:
        if upload.results_key is None:
            return None
        target = self._folder / f"{upload.upload_id}.csv"
        write_whole(target, results_chunks(self._uploader.s3, upload))
        return str(target)


def results_chunks(s3: Any, upload: Upload) -> Iterator[bytes]:
    """The results of a finished upload, as they are stored."""
    yield from s3.get_object(Bucket=upload.bucket, Key=upload.results_key)["Body"].iter_chunks(1 << 20)
