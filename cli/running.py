"""Files in, reports out: each is uploaded, waited for, read back and its results downloaded, in the order given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from cli.cloud import Cloud
from cli.errors import CommandError
from cli.inputs import InputFile
from cli.progress import Progress
from cli.reports import FileReport, RunReport, file_report
from cli.text import plain
from cli.uploading import Standing, Uploader
from functions.finish.storage import source_of
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
        try:
            version = self._uploader.put(file)
        except OSError as error:
            reason = (error.strerror or "input/output error").lower()
            raise CommandError(f"{plain(file.given)} cannot be read any more: {reason}.") from None
        with self._progress.file(file.path.name) as watched:
            standing = self._uploader.wait(version, watched.update)
        if not standing.ended:
            self._progress.note(self._still_open(file, standing))
        results = self._download(standing.upload) if standing.upload else None
        return file_report(file.given, standing, source_of(self._uploader.s3), self._uploader.table, results)

    def _still_open(self, file: InputFile, standing: Standing) -> str:
        waited = f"after {self._patience_s:g} s in which nothing changed"
        if standing.upload is None:
            return f"{plain(file.given)} has not been admitted {waited}; it is reported as running."
        valid = standing.upload.counts.valid
        return f"{plain(file.given)}: {valid - standing.terminal} of {valid} valid rows are still open {waited}."

    def _download(self, upload: Upload) -> str | None:
        if upload.results_key is None:
            return None
        target = self._folder / f"{upload.upload_id}.csv"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            # Renamed when whole, so that a file of that name is never half of one.
            with NamedTemporaryFile(dir=self._folder, prefix=".", suffix=".part", delete=False) as part:
                _copy(self._uploader.s3, upload, part)
            Path(part.name).chmod(0o644)
            Path(part.name).replace(target)
        except OSError as error:
            reason = (error.strerror or "input/output error").lower()
            raise CommandError(f"the results cannot be written to {plain(str(target))}: {reason}.") from None
        return str(target)


def _copy(s3: Any, upload: Upload, target: Any) -> None:
    body = s3.get_object(Bucket=upload.bucket, Key=upload.results_key)["Body"]
    for chunk in body.iter_chunks(1 << 20):
        target.write(chunk)
