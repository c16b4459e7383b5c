"""Whether rows could be asked: the secret with the API key, and, for money, the model itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from cli.doctor.patient import Patient
from cli.doctor.report import Finding, not_meaningful, ok, problem, unknown
from cli.sentences import is_denied
from functions.api_key import ApiKey, KeyUnavailableError, key_in
from functions.classify.answers import parse_message
from functions.classify.billing import Answer, NoAnswer, verdict_of
from functions.classify.prices import cost_microusd
from functions.classify.task import Task, build_task
from functions.finish.summary import usd
from functions.operate.advice import advice_of
from functions.settings import TaskSettings

if TYPE_CHECKING:
    from functions.classify.claude import Provider

DEADLINE_S = 30.0
CURRENT = "AWSCURRENT"
_STORE = "Store the key: aws secretsmanager put-secret-value --secret-id NAME --secret-string sk-ant-…"


def secret_holds_a_key(patient: Patient) -> Finding:
    """Reads the secret where the caller may, and says whether it holds a key; its text is never shown."""
    environment = patient.environment("ClassifyFunctionName")
    secret = environment.get("ANTHROPIC_SECRET_ID", "")
    if not secret:
        return not_meaningful(f"the model is reached through {_provider(patient)}, without a secret")
    client = patient.client("secretsmanager")
    try:
        key_in(client.get_secret_value(SecretId=secret).get("SecretString", ""))
    except KeyUnavailableError as error:
        return problem(f"the secret {secret}: {error}", _STORE)
    except ClientError as error:
        if not is_denied(error):
            return problem(f"the secret {secret} cannot be read ({error.response['Error']['Code']})", _STORE)
        return _without_reading(client, secret)
    return ok(f"the secret {secret} holds a key (it is not shown)")


def model_answers(patient: Patient) -> Finding:
    """One smallest request with the deployed model, prompt and key; only where the caller allows the expense."""
    if patient.local:
        return not_meaningful(
            "no deployed key or model is asked here; the stand-in, or the endpoint of `local up`, answers"
        )
    if not patient.spend:
        return unknown("skipped: it makes one model request, which costs a little", "Run `prospects doctor --spend`.")
    settings = patient.environment("IntakeFunctionName")
    task = build_task(TaskSettings.from_env(settings))
    try:
        answer = _ask(patient, task)
    except KeyUnavailableError as error:
        return unknown(str(error), "Let somebody run this who may read the secret.")
    return _judged(task, answer)


def _ask(patient: Patient, task: Task) -> Answer | NoAnswer:
    # Seconds to import, so only when it is wanted.
    from functions.classify.claude import Claude  # noqa: PLC0415

    request: dict[str, Any] = task.request({task.columns[0]: "This is a test of the connection."})
    claude = Claude(_provider_of(patient), deadline_s=DEADLINE_S)
    try:
        return claude.ask(request, lambda: True)
    finally:
        claude.close()


def _provider_of(patient: Patient) -> Provider:
    from functions.classify.claude import DEFAULT_BASE_URL, AnthropicProvider, BedrockProvider  # noqa: PLC0415

    environment = patient.environment("ClassifyFunctionName")
    if _provider(patient) == "bedrock":
        return BedrockProvider(patient.target.region)
    key = ApiKey(patient.client("secretsmanager"), environment.get("ANTHROPIC_SECRET_ID", ""))
    return AnthropicProvider(key, environment.get("ANTHROPIC_BASE_URL") or DEFAULT_BASE_URL)


def _judged(task: Task, answer: Answer | NoAnswer) -> Finding:
    verdict = verdict_of(answer)
    if isinstance(answer, NoAnswer) or verdict.kind != "read":
        status = "no answer" if isinstance(answer, NoAnswer) else f"status {answer.status}"
        found = f"the model {task.model} did not answer from here: {verdict.reason} ({status})"
        return (problem if verdict.pauses or verdict.kind == "failed" else unknown)(found, advice_of(verdict.reason))
    message = parse_message(answer.body)
    if message is None:
        return problem("what answered is not the Messages API", "Look at the base URL and the proxy in between.")
    return ok(f"the model {message.model} answered; that cost {usd(cost_microusd(task.model, message.usage))}")


def _without_reading(client: Any, secret: str) -> Finding:
    described = client.describe_secret(SecretId=secret)
    stages = [stage for stages in described.get("VersionIdsToStages", {}).values() for stage in stages]
    if CURRENT not in stages:
        return problem(f"the secret {secret} has no value", _STORE)
    return ok(f"the secret {secret} has a value (these credentials may not read it, the function's role may)")


def _provider(patient: Patient) -> str:
    return patient.environment("ClassifyFunctionName").get("MODEL_PROVIDER", "anthropic")
