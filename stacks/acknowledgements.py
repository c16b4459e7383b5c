"""Findings of cdk-nag that stand, each on the constructs it is about and with its reason; any other fails the synth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct

from stacks.settings import Settings


@dataclass(frozen=True)
class Acknowledgement:
    """`rule` as the pack prints it; `where` a construct path without the deployment's name, `*` for one part of it."""

    rule: str
    where: str
    reason: str


IS_A_DLQ = (
    "It is a dead-letter queue: a person empties it. The rule knows only those named by another queue's redrive policy."
)
RUNTIME = (
    "Python 3.13 is what the dependencies are locked, bundled and tested for; a newer runtime is a deliberate step."
)
ON_FAILURE = (
    "Failed asynchronous invocations go to an on-failure destination, which keeps the reason beside the event; "
    "a DeadLetterConfig keeps the event alone."
)
NOT_ASYNCHRONOUS = (
    "Nothing invokes it asynchronously: its queue drives it, retries it and keeps what fails in its dead-letter queue."
)
NO_TRACING = (
    "A trace ends at the bus and the queue, and writing one is only possible on resource *; the correlation id in the "
    "envelope joins the log lines instead."
)
BY_THE_BUS = "Nothing invokes it asynchronously: the bus waits for its answer, and keeps a record of what it gave up."
QUEUES_HAVE_REDRIVE = "Lambda offers it for streams only; for a queue the redrive policy is the destination."
OBJECTS = "Objects are named by who uploads them; the permission ends at the one prefix of the one bucket."

ALWAYS = (
    Acknowledgement(
        "AwsSolutions-S1",
        "Storage/Uploads",
        "Access logs would hold file names, which are personal data here, in a second bucket; CloudTrail data events "
        "serve an account that must know who read what.",
    ),
    Acknowledgement("AwsSolutions-SQS3", "Classification/*/RuleDlq", IS_A_DLQ),
    Acknowledgement("AwsSolutions-SQS3", "Classification/*/Failures", IS_A_DLQ),
    Acknowledgement("AwsSolutions-SQS3", "Classification/*/SubscriberDlq", IS_A_DLQ),
    Acknowledgement("Serverless-SQSRedrivePolicy", "Classification/*/RuleDlq", IS_A_DLQ),
    Acknowledgement("Serverless-SQSRedrivePolicy", "Classification/*/Failures", IS_A_DLQ),
    Acknowledgement("Serverless-SQSRedrivePolicy", "Classification/*/SubscriberDlq", IS_A_DLQ),
    Acknowledgement("Serverless-SQSRedrivePolicy", "Classification/*/Dlq", IS_A_DLQ),
    Acknowledgement("AwsSolutions-L1", "Classification/*/Function", RUNTIME),
    Acknowledgement("Serverless-LambdaLatestVersion", "Classification/*/Function", RUNTIME),
    Acknowledgement("Serverless-LambdaDLQ", "Classification/Intake/Function", ON_FAILURE),
    Acknowledgement("Serverless-LambdaDLQ", "Classification/Finish/Function", ON_FAILURE),
    Acknowledgement("Serverless-LambdaDLQ", "Classification/Classify/Function", NOT_ASYNCHRONOUS),
    Acknowledgement(
        "Serverless-LambdaAsyncFailureDestination", "Classification/Classify/Asynchronous", NOT_ASYNCHRONOUS
    ),
    Acknowledgement(
        "Serverless-LambdaEventSourceMappingDestination",
        "Classification/Classify/Mapping",
        QUEUES_HAVE_REDRIVE,
    ),
    Acknowledgement("Serverless-LambdaTracing", "Classification/*/Function", NO_TRACING),
    Acknowledgement(
        "AwsSolutions-IAM5[Resource::{name}Storage-UploadsBucketArn/uploads/*]", "Classification/Intake/Role", OBJECTS
    ),
    Acknowledgement(
        "AwsSolutions-IAM5[Resource::{name}Storage-UploadsBucketArn/uploads/*]", "Classification/Finish/Role", OBJECTS
    ),
    Acknowledgement(
        "AwsSolutions-IAM5[Resource::{name}Storage-UploadsBucketArn/results/*]", "Classification/Finish/Role", OBJECTS
    ),
)

REFUNDS = (
    *(
        Acknowledgement(rule, f"Refund/*/{queue}", IS_A_DLQ)
        for rule in ("AwsSolutions-SQS3", "Serverless-SQSRedrivePolicy")
        for queue in ("RuleDlq", "Failures", "SubscriberDlq")
    ),
    Acknowledgement("Serverless-SQSRedrivePolicy", "Refund/Queue/Dlq", IS_A_DLQ),
    Acknowledgement("AwsSolutions-L1", "Refund/*/Function", RUNTIME),
    Acknowledgement("Serverless-LambdaLatestVersion", "Refund/*/Function", RUNTIME),
    Acknowledgement("Serverless-LambdaTracing", "Refund/*/Function", NO_TRACING),
    *(
        Acknowledgement("Serverless-LambdaDLQ", f"Refund/{worker}/Function", ON_FAILURE)
        for worker in ("Tool", "Approve", "Reconcile")
    ),
    Acknowledgement("Serverless-LambdaDLQ", "Refund/Queue/Function", NOT_ASYNCHRONOUS),
    Acknowledgement("Serverless-LambdaDLQ", "Refund/Bus/Function", BY_THE_BUS),
    Acknowledgement("Serverless-LambdaAsyncFailureDestination", "Refund/Queue/Asynchronous", NOT_ASYNCHRONOUS),
    Acknowledgement("Serverless-LambdaAsyncFailureDestination", "Refund/Bus/Asynchronous", BY_THE_BUS),
    Acknowledgement("Serverless-LambdaEventSourceMappingDestination", "Refund/Queue/Mapping", QUEUES_HAVE_REDRIVE),
    Acknowledgement(
        "AwsSolutions-SF1",
        "Refund/Workflow/Machine",
        "Step Functions keeps the history of every execution for 90 days; having it write logs too is only possible "
        "on resource *, and they would hold the amounts.",
    ),
    Acknowledgement("AwsSolutions-SF2", "Refund/Workflow/Machine", NO_TRACING),
    Acknowledgement("Serverless-StepFunctionStateMachineXray", "Refund/Workflow/Machine", NO_TRACING),
)

WITH_ALERT_EMAIL = (
    Acknowledgement(
        "Serverless-SNSRedrivePolicy",
        "Messaging/Alerts/*",
        "A mail that cannot be delivered would have to be reported by mail to the same address.",
    ),
)

WITH_INFERENCE_PROFILE = (
    Acknowledgement(
        "AwsSolutions-IAM5[Resource::arn:{partition}:bedrock:*::foundation-model/{model}]",
        "Classification/Classify/Role",
        "An inference profile runs the one model in whichever Region of its group is free.",
    ),
)


def acknowledgements(settings: Settings) -> Sequence[Acknowledgement]:
    """Those that a deployment with these settings has findings for."""
    _, _, model = settings.model_id.rpartition("anthropic.")
    words = {
        "name": settings.name,
        "model": f"anthropic.{model}",
        # The CDK writes the partition out where it knows the Region.
        "partition": "aws" if settings.region else "<AWS::Partition>",
    }
    through_profile = settings.model_provider == "bedrock" and not settings.model_id.startswith("anthropic.")
    chosen = [
        *ALWAYS,
        *(REFUNDS if settings.refunds else ()),
        *(WITH_ALERT_EMAIL if settings.alert_email else ()),
        *(WITH_INFERENCE_PROFILE if through_profile else ()),
    ]
    return [Acknowledgement(each.rule.format(**words), f"{settings.name}{each.where}", each.reason) for each in chosen]


def acknowledge(app: IConstruct, chosen: Sequence[Acknowledgement]) -> None:
    """Record them on the constructs. Raises LookupError for one that is about nothing."""
    paths = {construct.node.path: construct for construct in app.node.find_all()}
    for each in chosen:
        found = list(_matching(paths, each.where))
        if not found:
            raise LookupError(f"the acknowledgement of {each.rule} is about {each.where}, which does not exist")
        for path in found:
            Validations.of(paths[path]).acknowledge(Acknowledgment(id=each.rule, reason=each.reason))


def _matching(paths: dict[str, IConstruct], where: str) -> Iterator[str]:
    wanted = where.split("/")
    for path in paths:
        parts = path.split("/")
        if len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted)):
            yield path
