"""The files of a cloud assembly in the staging bucket, where the templates expect them."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.clients import Clients
from local.settings import ACCOUNT, REGION

_PLACEHOLDERS = {"${AWS::AccountId}": ACCOUNT, "${AWS::Region}": REGION, "${AWS::Partition}": "aws"}
_EARLIEST = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Stack:
    """One stack of an assembly: its name, its template, and where the template lies in the staging bucket."""

    name: str
    template: Mapping[str, Any]
    bucket: str
    key: str


def stacks_in_order(assembly: Path) -> list[Stack]:
    """Every stack, each after those it needs."""
    artifacts = json.loads((assembly / "manifest.json").read_text())["artifacts"]
    stacks = {name: value for name, value in artifacts.items() if value["type"] == "aws:cloudformation:stack"}
    ordered: list[str] = []

    def place(name: str) -> None:
        for needed in stacks[name].get("dependencies", ()):
            if needed in stacks and needed not in ordered:
                place(needed)
        if name not in ordered:
            ordered.append(name)

    for name in stacks:
        place(name)
    return [_stack(assembly, stacks[name]["properties"]) for name in ordered]


def _stack(assembly: Path, properties: Mapping[str, Any]) -> Stack:
    template_file = str(properties["templateFile"])
    bucket, _, key = _filled(properties["stackTemplateAssetObjectUrl"]).removeprefix("s3://").partition("/")
    name = str(properties.get("stackName") or template_file.removesuffix(".template.json"))
    return Stack(name, json.loads((assembly / template_file).read_text()), bucket, key)


def upload_assets(clients: Clients, assembly: Path) -> None:
    """Create the staging bucket and put every file asset into it, each once."""
    s3 = clients.client("s3")
    made: set[str] = set()
    done: set[tuple[str, str]] = set()
    for source, bucket, key in _files(assembly):
        if bucket not in made:
            s3.create_bucket(Bucket=bucket)
            made.add(bucket)
        if (bucket, key) not in done:
            s3.put_object(Bucket=bucket, Key=key, Body=_zipped(source) if source.is_dir() else source.read_bytes())
            done.add((bucket, key))


def _files(assembly: Path) -> Iterator[tuple[Path, str, str]]:
    for manifest in sorted(assembly.glob("*.assets.json")):
        for file in json.loads(manifest.read_text())["files"].values():
            for destination in file["destinations"].values():
                source = assembly / file["source"]["path"]
                yield source, _filled(destination["bucketName"]), _filled(destination["objectKey"])


def _filled(text: str) -> str:
    for placeholder, value in _PLACEHOLDERS.items():
        text = text.replace(placeholder, value)
    return text


def _zipped(folder: Path) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.writestr(zipfile.ZipInfo(str(path.relative_to(folder)), _EARLIEST), path.read_bytes())
    return buffer.getvalue()
