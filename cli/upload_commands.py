"""`prospects upload`, `status` and `results`: files in, where they stand, and their results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from cli.downloading import Download, download
from cli.finding import Finder, Found
from cli.inputs import InputFile, input_files
from cli.progress import progress_on
from cli.render import print_line
from cli.sentences import sentences
from cli.show_status import show_overview, show_status
from cli.statuses import Status, overview, status_of
from cli.target import Aws, Local, Name, Region, Target, find_target
from cli.uploading import ObjectVersion, Uploader
from functions.text import one_line

PATIENCE_S = 3_600.0
LAST = 10
COMMON = "2 the cloud, its credentials or what was given on the command line cannot be used"
UPLOAD_CODES = (
    "Exit codes: 0 uploaded, and with --watch done; 1 with --watch: refused, waiting for approval, paused, or not done "
    f"within the patience; {COMMON}."
)
STATUS_CODES = f"Exit codes: 0 shown, whatever the state; 1 there is no such upload; {COMMON}."
RESULTS_CODES = f"Exit codes: 0 written, whole or so far; 1 there is no such upload; {COMMON}."

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else, on stdout.")]
UploadName = Annotated[
    str,
    typer.Argument(
        metavar="UPLOAD", help="An upload id or its first 6 or more characters, or the uploaded file's name."
    ),
]


def upload(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A CSV file of prospects.")],
    *,
    watch: Annotated[
        bool, typer.Option("--watch", help="Wait until it is done, refused, paused or needs approval.")
    ] = False,
    patience: Annotated[
        float, typer.Option("--patience", min=1, help="With --watch: seconds without any change after which it ends.")
    ] = PATIENCE_S,
    as_json: AsJson = False,
    name: Name = None,
    region: Region = None,
    local: Local = False,
    aws: Aws = False,
) -> None:
    """Upload a file; it is validated, priced, and then classified by itself."""
    console = Console()
    with sentences():
        [chosen] = input_files([file])
        target = find_target(name, region, local=local, aws=aws)
        uploader = Uploader(target.cloud, patience_s=patience)
        version = uploader.put(chosen)
        if not watch:
            _say_uploaded(console, target, chosen, version, as_json=as_json)
            return
        status = _watch(target, uploader, chosen, version)
    if as_json:
        print(json.dumps(status.to_json()))
    else:
        show_status(console, status, target.where)
    raise typer.Exit(0 if status.state == "done" else 1)


def status(
    upload: Annotated[
        str | None, typer.Argument(metavar="[UPLOAD]", help="As for the other commands; without it all that is open.")
    ] = None,
    *,
    last: Annotated[int, typer.Option("--last", min=0, help="How many finished uploads are listed.")] = LAST,
    as_json: AsJson = False,
    name: Name = None,
    region: Region = None,
    local: Local = False,
    aws: Aws = False,
) -> None:
    """Show where one upload stands; or all that are open, and those that were finished last."""
    console = Console()
    with sentences():
        target = find_target(name, region, local=local, aws=aws)
        finder = Finder(target.cloud)
        if upload is None:
            listed = overview(finder, last)
            _print(listed.to_json()) if as_json else show_overview(console, listed, target.where)
            return
        found = status_of(finder, finder.find(upload))
        _print(found.to_json()) if as_json else show_status(console, found, target.where)


def results(
    upload: UploadName,
    *,
    out: Annotated[
        Path, typer.Option("--out", metavar="PATH", help="A folder, or the name of the file when it ends with .csv.")
    ] = Path("results"),
    as_json: AsJson = False,
    name: Name = None,
    region: Region = None,
    local: Local = False,
    aws: Aws = False,
) -> None:
    """Download the results; of an upload that is not done, what has ended so far, every other row marked open."""
    console = Console()
    with sentences():
        target = find_target(name, region, local=local, aws=aws)
        finder = Finder(target.cloud)
        written = download(finder, finder.upload(upload), out)
    if as_json:
        _print(written.to_json())
    else:
        _say_written(console, written)


def _watch(target: Target, uploader: Uploader, file: InputFile, version: ObjectVersion) -> Status:
    with progress_on(Console(stderr=True)) as progress:
        progress.note(f"Uploaded to {target.where}; Ctrl-C ends the watching, not the upload.")
        with progress.file(file.path.name) as watched:
            standing = uploader.wait(version, watched.update)
    return status_of(Finder(target.cloud), Found(file.object_key, standing.upload, standing.item))


def _say_uploaded(console: Console, target: Target, file: InputFile, version: ObjectVersion, *, as_json: bool) -> None:
    bucket = target.cloud.outputs["UploadsBucketName"]
    if as_json:
        _print({"file": version.object_key, "bucket": bucket, "version_id": version.version_id})
        return
    print_line(
        console, f"Uploaded {one_line(file.given)} to {one_line(target.where)}, as {one_line(version.object_key)}."
    )
    print_line(console, f"What becomes of it: prospects status {one_line(_quoted(file.path.name))}")


def _quoted(text: str) -> str:
    return f'"{text}"' if any(character.isspace() or character in "()&;'" for character in text) else text


def _say_written(console: Console, written: Download) -> None:
    print_line(console, one_line(str(written.path)))
    if not written.complete:
        print_line(
            console,
            f"So far: {written.ended:,} of {written.valid:,} valid rows have ended, the others are marked open "
            f"(the upload is {written.state.replace('_', ' ')}).",
        )


def _print(value: Any) -> None:
    # ASCII, so that no locale can refuse to print it.
    print(json.dumps(value))
