"""The whole application: its stacks, and the checks every synth must pass."""

from __future__ import annotations

from dataclasses import replace

from aws_cdk import App, Environment, RemovalPolicy, Validations
from cdk_nag import AwsSolutionsChecks, ServerlessChecks

from stacks.acknowledgements import acknowledge, acknowledgements
from stacks.bundle import Bundler
from stacks.classification import ClassificationStack
from stacks.messaging import MessagingStack
from stacks.observability import ObservabilityStack
from stacks.permissions import Resources
from stacks.refunds import RefundStack
from stacks.retries import Retries
from stacks.settings import Settings
from stacks.storage import StorageStack
from stacks.worker import Shared


def add_stacks(app: App, settings: Settings, bundler: Bundler) -> list[Retries]:
    """Add every stack of one deployment to `app`; what its workers repeat.

    With no Region or account in the settings the stacks fit any; the CDK CLI fills both in. Raises BundleError.
    """
    try:
        return _add_stacks(app, settings, bundler)
    except RuntimeError:
        if bundler.failure is not None:
            raise bundler.failure from None
        raise


def check(app: App, settings: Settings) -> None:
    """Have every synth of `app` judged by cdk-nag; a finding nobody acknowledged fails it."""
    acknowledge(app, acknowledgements(settings))
    Validations.of(app).add_plugins(AwsSolutionsChecks(app), ServerlessChecks(app))


def _add_stacks(app: App, settings: Settings, bundler: Bundler) -> list[Retries]:
    env = Environment(account=settings.account or None, region=settings.region or None)
    storage = StorageStack(app, f"{settings.name}Storage", settings=settings, env=env)
    messaging = MessagingStack(app, f"{settings.name}Messaging", settings=settings, env=env)
    shared = Shared(
        deployment=settings.name,
        code=bundler.code(),
        alerts=messaging.alerts,
        log_retention_days=settings.log_retention_days,
        removal_policy=RemovalPolicy.DESTROY if settings.ephemeral else RemovalPolicy.RETAIN,
    )
    use = Resources(storage.storage, messaging.bus, messaging.alerts, messaging.alerts_key)
    ClassificationStack(app, f"{settings.name}Classification", settings=settings, use=use, shared=shared, env=env)
    if settings.refunds:
        # An asset belongs to one stack; what is built is the same, and uploaded once.
        beside = replace(shared, code=bundler.code())
        RefundStack(app, f"{settings.name}Refund", settings=settings, use=use, shared=beside, env=env)
    ObservabilityStack(app, f"{settings.name}Observability", settings=settings, alerts=messaging.alerts, env=env)
    return shared.retries
