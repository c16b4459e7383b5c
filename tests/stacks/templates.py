"""Synthesized templates as data: resources by type, and references followed across stacks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stacks.bundle import Bundler
from stacks.deployment import add_stacks, check
from stacks.settings import Settings, read_settings

from aws_cdk import App  # isort: skip -- after stacks, which chooses the Node that runs it

ROOT = Path(__file__).resolve().parents[2]


def settings_of(**context: object) -> Settings:
    return read_settings(context.get, {})


def synthesize(outdir: Path, package: Path, **context: object) -> Templates:
    """Every stack with these settings, checked as `app.py` checks them, with the code-only asset."""
    defaults = json.loads((ROOT / "cdk.json").read_text())["context"]
    app = App(context={**defaults, **context}, outdir=str(outdir), analytics_reporting=False)
    settings = settings_of(**context)
    add_stacks(app, settings, Bundler(with_dependencies=False, package=package))
    check(app, settings)
    app.synth()
    return Templates.read(outdir)


@dataclass(frozen=True)
class Resource:
    """A resource of a synthesized stack. Two are equal when they are the same resource."""

    stack: str
    logical_id: str
    type: str
    body: Mapping[str, Any]

    def __hash__(self) -> int:
        return hash((self.stack, self.logical_id))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Resource) and (self.stack, self.logical_id) == (other.stack, other.logical_id)

    @property
    def properties(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.body.get("Properties", {})
        return found

    def __repr__(self) -> str:
        return f"{self.stack}/{self.logical_id}"


@dataclass(frozen=True)
class Templates:
    """All templates of one cloud assembly. `folder` is where they lie."""

    folder: Path
    resources: Sequence[Resource]
    outputs: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, folder: Path) -> Templates:
        resources: list[Resource] = []
        outputs: dict[str, Mapping[str, Any]] = {}
        for path in sorted(folder.glob("*.template.json")):
            stack = path.name.removesuffix(".template.json")
            template = json.loads(path.read_text())
            resources += [Resource(stack, name, body["Type"], body) for name, body in template["Resources"].items()]
            outputs |= {
                f"{stack}.{name}": {**output, "Stack": stack} for name, output in template.get("Outputs", {}).items()
            }
        assert resources, f"nothing was synthesized into {folder}"
        return cls(folder, resources, outputs)

    def of_type(self, kind: str) -> list[Resource]:
        found = [resource for resource in self.resources if resource.type == kind]
        assert found, f"no {kind} in the templates: a property of none of them proves nothing"
        return found

    def named(self, value: Any, inside: Resource) -> Resource:
        """The resource that a Ref, a GetAtt or an import used by `inside` names."""
        stack, logical_id = self._target(value, inside.stack)
        return next(found for found in self.resources if (found.stack, found.logical_id) == (stack, logical_id))

    def _target(self, value: Any, stack: str) -> tuple[str, str]:
        match value:
            case {"Ref": str(logical_id)} | {"Fn::GetAtt": [str(logical_id), _]}:
                return stack, logical_id
            case {"Fn::ImportValue": str(export)}:
                output = next(o for o in self.outputs.values() if o.get("Export", {}).get("Name") == export)
                return self._target(output["Value"], output["Stack"])
        raise AssertionError(f"{value} names no resource")

    def role_of(self, function: Resource) -> Resource:
        return self.named(function.properties["Role"], function)

    def allowed(self, role: Resource) -> Iterator[tuple[str, Any]]:
        """Every action and resource that the role's policies allow."""
        for policy in role.properties.get("Policies", []):
            for statement in policy["PolicyDocument"]["Statement"]:
                if statement["Effect"] == "Allow":
                    for action in listed(statement["Action"]):
                        for resource in listed(statement["Resource"]):
                            yield action, resource

    def may(self, role: Resource, action: str, target: Resource) -> bool:
        """Whether the role may do this to exactly that resource."""
        for allowed, resource in self.allowed(role):
            names_one = isinstance(resource, dict) and "Fn::Join" not in resource
            if allowed == action and names_one and self.named(resource, role) == target:
                return True
        return False

    def worker_functions(self) -> dict[str, Resource]:
        """By the worker's name, which is its Powertools service name."""
        return {
            each.properties["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"]: each
            for each in self.of_type("AWS::Lambda::Function")
        }


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
