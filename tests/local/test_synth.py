"""The cloud assembly is made once for what it was made from."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from local.assets import stacks_in_order, upload_assets
from local.clients import Clients
from local.errors import LocalCloudError
from local.synth import synthesize

APP = """
import json, os, pathlib, sys
context = json.loads(os.environ["CDK_CONTEXT_JSON"])
if "refuse" in context:
    sys.stderr.write("bundling\\nsetting refuse: it was given.\\n")
    sys.exit(1)
folder = pathlib.Path(os.environ["CDK_OUTDIR"])
folder.mkdir()
(folder / "manifest.json").write_text(json.dumps(context))
(folder / "seen.json").write_text(json.dumps(sorted(os.environ)))
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for folder in ("stacks", "functions"):
        (root / folder).mkdir(parents=True)
    (root / "app.py").write_text(APP)
    (root / "cdk.json").write_text("{}")
    (root / "functions" / "handler.py").write_text("one = 1")
    return root


def synth(root: Path, **context: str) -> Path:
    scratch = root.parent / f"scratch-{len(list(root.parent.iterdir()))}"
    scratch.mkdir()
    return synthesize(context, scratch=scratch, root=root, cache=root.parent / "cache")


def test_an_unchanged_app_is_not_run_again(root: Path) -> None:
    first = synth(root, name="A")
    assert json.loads((first / "manifest.json").read_text()) == {"name": "A"}
    (first / "mark").touch()
    assert (synth(root, name="A") / "mark").exists()


def test_another_setting_or_another_file_is_another_assembly(root: Path) -> None:
    first = synth(root, name="A")
    assert synth(root, name="B") != first
    (root / "functions" / "handler.py").write_text("one = 2")
    assert synth(root, name="A") != first


def test_what_the_app_refuses_is_told_in_its_own_words_and_keeps_nothing(root: Path) -> None:
    with pytest.raises(LocalCloudError, match=r"The stacks cannot be synthesized: setting refuse: it was given\."):
        synth(root, refuse="yes")
    assert not (root.parent / "cache").exists()


def test_the_app_sees_no_credentials(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a real one")
    seen = json.loads((synth(root) / "seen.json").read_text())
    assert not [name for name in seen if name.startswith(("AWS_", "ANTHROPIC_"))]


def test_old_assemblies_are_forgotten(root: Path) -> None:
    for number in range(8):
        os.utime(synth(root, name=f"N{number}"), (number, number))
    assert len(list((root.parent / "cache").iterdir())) <= 5


def test_stacks_come_after_those_they_need(tmp_path: Path) -> None:
    artifacts = {}
    for name, needs in (("Last", ["First", "Last.assets"]), ("First", ["First.assets"])):
        (tmp_path / f"{name}.template.json").write_text('{"Resources": {}}')
        artifacts[name] = {
            "type": "aws:cloudformation:stack",
            "dependencies": needs,
            "properties": {
                "templateFile": f"{name}.template.json",
                "stackTemplateAssetObjectUrl": "s3://staging-${AWS::AccountId}-${AWS::Region}/key.json",
            },
        }
        artifacts[f"{name}.assets"] = {"type": "cdk:asset-manifest"}
    (tmp_path / "manifest.json").write_text(json.dumps({"artifacts": artifacts}))
    stacks = stacks_in_order(tmp_path)
    assert [stack.name for stack in stacks] == ["First", "Last"]
    assert (stacks[0].bucket, stacks[0].key) == ("staging-000000000000-us-east-1", "key.json")


class Recorded(Clients):
    """Instead of S3: what would have been uploaded."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:9")
        self.buckets: list[str] = []
        self.objects: dict[str, bytes] = {}

    def client(self, service: str) -> Recorded:
        assert service == "s3"
        return self

    def create_bucket(self, *, Bucket: str) -> None:  # noqa: N803 - boto3's names
        self.buckets.append(Bucket)

    def put_object(self, *, Bucket: str, Key: str, Body: bytes) -> None:  # noqa: N803 - boto3's names
        assert Key not in self.objects
        self.objects[Key] = Body


def test_each_asset_is_uploaded_once_and_the_same_folder_is_the_same_zip(tmp_path: Path) -> None:
    (tmp_path / "asset.x" / "functions").mkdir(parents=True)
    (tmp_path / "asset.x" / "functions" / "handler.py").write_text("one = 1")
    destination = {"bucketName": "staging-${AWS::AccountId}", "objectKey": "x.zip"}
    files = {"x": {"source": {"path": "asset.x", "packaging": "zip"}, "destinations": {"d": destination}}}
    for stack in ("A", "B"):
        (tmp_path / f"{stack}.assets.json").write_text(json.dumps({"files": files}))
    first, second = Recorded(), Recorded()
    upload_assets(first, tmp_path)
    upload_assets(second, tmp_path)
    assert first.buckets == ["staging-000000000000"]
    assert list(first.objects) == ["x.zip"]
    assert first.objects == second.objects
