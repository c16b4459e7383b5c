"""What is uploaded as the functions' code: the package `functions/`, alone or beside its arm64 dependencies.

Built without Docker, and byte for byte the same every time, so an unchanged function is not deployed again.
`python -m stacks.bundle FOLDER` builds the whole of it to look at.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import cast

import jsii
from aws_cdk import AssetHashType, BundlingOptions, DockerImage, ILocalBundling
from aws_cdk import aws_lambda as lambda_

from stacks.dependencies import BundleError, install_dependencies

PACKAGE = Path(__file__).resolve().parent.parent / "functions"
NOT_SHIPPED = shutil.ignore_patterns("__pycache__", "*.pyc", "requirements*", ".*")


@jsii.implements(ILocalBundling)
class Bundler:
    """Builds the asset where the CDK asks for it. Without dependencies it needs neither network nor uv."""

    def __init__(self, *, with_dependencies: bool, package: Path = PACKAGE) -> None:
        self._with_dependencies = with_dependencies
        self._package = package
        self.failure: BundleError | None = None

    def code(self) -> lambda_.Code:
        """The asset all functions share; built once, when the first function is made."""
        return lambda_.Code.from_asset(
            str(self._package),
            # What was built decides, not what it was built from: the same output is the same asset.
            asset_hash_type=AssetHashType.OUTPUT,
            # The image is never pulled: the local bundler builds or fails, it never passes.
            bundling=BundlingOptions(
                image=DockerImage.from_registry("docker-is-not-used"), local=cast(ILocalBundling, self)
            ),
        )

    def try_bundle(self, output_dir: str, options: BundlingOptions) -> bool:  # noqa: ARG002 -- the interface's
        try:
            build(Path(output_dir), with_dependencies=self._with_dependencies, package=self._package)
        except BundleError as failure:
            # jsii passes on the text alone, in a RuntimeError of its own.
            self.failure = failure
            raise
        return True


def build(target: Path, *, with_dependencies: bool, package: Path = PACKAGE) -> None:
    """Fill the empty folder `target`. Raises BundleError."""
    if with_dependencies:
        install_dependencies(package / "requirements.txt", target)
    shutil.copytree(package, target / package.name, ignore=NOT_SHIPPED)
    for path in target.rglob("*"):
        # The umask of whoever builds is not part of the program.
        path.chmod(0o755 if path.is_dir() else 0o644)


def main(arguments: list[str]) -> int:
    """Build the whole bundle into the one folder named, in place of an earlier bundle; 2 when that cannot be."""
    if len(arguments) != 1:
        sys.stderr.write("name one folder: python -m stacks.bundle FOLDER\n")
        return 2
    target = Path(arguments[0])
    if target.exists() and not (target.is_dir() and (target / PACKAGE.name / "settings.py").exists()):
        sys.stderr.write(f"{target} exists and is no earlier bundle; name another folder.\n")
        return 2
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    try:
        build(target, with_dependencies=True)
    except BundleError as failure:
        sys.stderr.write(f"{failure}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
