"""The functions' asset: alone for the local cloud, whole for Lambda, and the same bytes every time."""

from __future__ import annotations

import ast
import importlib.metadata
import io
import os
import stat
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

from stacks.bundle import build, main
from stacks.dependencies import SERVICES
from tests.calls import Source
from tests.stacks.templates import Templates

MOST_BYTES_ZIPPED = 20 * 1000 * 1000


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory, package: Path) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    build(folder, with_dependencies=True, package=package)
    return folder


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Mode and bytes of every file."""
    return {
        str(path.relative_to(folder)): (stat.S_IMODE(path.stat().st_mode), path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    }


def zipped(folder: Path) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder))
    return buffer.getvalue()


def installed_in(folder: Path) -> dict[str, str]:
    """Version by name of every distribution in a bundle."""
    found = {}
    for metadata in folder.glob("*.dist-info/METADATA"):
        header = HeaderParser().parsestr(metadata.read_text(encoding="utf-8"))
        found[header["Name"].lower().replace("_", "-")] = header["Version"]
    return found


def test_the_code_alone_is_the_package_and_nothing_else(templates: Templates, package: Path) -> None:
    (asset,) = [path for path in templates.folder.glob("asset.*") if path.is_dir()]
    assert [path.name for path in asset.iterdir()] == ["functions"]
    shipped = {str(path.relative_to(asset)) for path in asset.rglob("*") if path.is_file()}
    wanted = {str(path.relative_to(package.parent)) for path in package.rglob("*.py")}
    assert shipped == wanted


def test_the_bundle_keeps_the_data_of_every_service_the_functions_call_and_of_no_other(source: Source) -> None:
    called = set()
    for tree in source.modules.values():
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Attribute(attr="client" | "resource"), args=[ast.Constant(value=str(name)), *_]):
                    called.add(name)
    assert called == SERVICES


@pytest.mark.package_index
def test_the_whole_bundle_is_the_same_bytes_and_modes_whoever_builds_it(
    whole: Path, package: Path, tmp_path: Path
) -> None:
    again = tmp_path / "again"
    usual = os.umask(0o077)
    try:
        build(again, with_dependencies=True, package=package)
    finally:
        os.umask(usual)
    first, second = contents(whole), contents(again)
    assert [name for name in first.keys() | second.keys() if first.get(name) != second.get(name)] == []


@pytest.mark.package_index
def test_the_whole_bundle_is_at_most_20_mb_zipped(whole: Path) -> None:
    assert len(zipped(whole)) <= MOST_BYTES_ZIPPED


@pytest.mark.package_index
def test_the_bundle_has_the_versions_that_are_tested_here(whole: Path) -> None:
    bundled = installed_in(whole)
    assert {"boto3", "botocore", "anthropic", "aws-lambda-powertools", "pydantic"} <= bundled.keys()
    assert bundled == {name: importlib.metadata.version(name) for name in bundled}


@pytest.mark.package_index
def test_what_is_compiled_is_compiled_for_arm64_and_python_3_13(whole: Path) -> None:
    compiled = [path.name for path in whole.rglob("*.so")]
    assert compiled
    assert all("cpython-313-aarch64-linux" in name for name in compiled)


@pytest.mark.package_index
def test_nothing_in_the_bundle_tells_who_built_it_or_is_never_read(whole: Path) -> None:
    names = {path.name for path in whole.rglob("*")}
    assert not names & {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "__pycache__", "bin", "tests"}
    services = {path.name for path in (whole / "botocore" / "data").iterdir() if path.is_dir()}
    assert services == SERVICES


def test_a_folder_that_is_no_bundle_is_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    precious = tmp_path / "precious.txt"
    precious.write_text("mine")
    assert main([str(tmp_path)]) == 2
    assert precious.read_text() == "mine"
    assert "is no earlier bundle" in capsys.readouterr().err
