"""What AWS charges in us-east-1, in dollars, and where each price was read. No free tiers, no volume discounts.

`known_from` says how well each is known: only some third party's page gave it, or nobody looked it up for this list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

REGION = "us-east-1"
READ_ON = "2026-11-29"
MILLION = 1_000_000


@dataclass(frozen=True)
class Price:
    """`dollars` for `per` units."""

    service: str
    what: str
    dollars: float
    per: int
    source: str
    known_from: str = "third party"

    def of(self, units: float) -> float:
        return units * self.dollars / self.per


_LAMBDA = "https://cloudchipr.com/blog/aws-lambda-pricing"
_DYNAMODB = "https://airbyte.com/data-engineering-resources/dynamodb-pricing"
_SQS = "https://cloudburn.io/blog/amazon-sqs-pricing"
_BUS = "third-party price files for the Custom Event Bus; AWS's stored pricing page is older than the service"
_LIST = "AWS's list price as the author knew it; check it on the pricing page of the service"

PRICES: Mapping[str, Price] = {
    "lambda_gb_s": Price("Lambda", "GB-second, arm64", 0.0000133334, 1, _LAMBDA),
    "lambda_request": Price("Lambda", "request", 0.20, MILLION, _LAMBDA),
    "dynamodb_write": Price("DynamoDB", "write request unit (1 KB), on demand", 0.625, MILLION, _DYNAMODB),
    "dynamodb_read": Price("DynamoDB", "read request unit (4 KB), on demand", 0.125, MILLION, _DYNAMODB),
    "bus_in_gb": Price("EventBridge", "GB published to the Custom Event Bus", 0.18, 1, _BUS),
    "bus_out_gb": Price("EventBridge", "GB delivered to a subscriber", 0.05, 1, _BUS),
    "bus_kept_gb": Price("EventBridge", "GB-month kept beyond the first day", 0.08, 1, _BUS),
    "sqs_request": Price("SQS", "request, standard queue", 0.40, MILLION, _SQS),
    "s3_put": Price("S3", "PUT request", 0.005, 1_000, _LIST, "not looked up"),
    "s3_get": Price("S3", "GET request", 0.0004, 1_000, _LIST, "not looked up"),
    "s3_gb_month": Price("S3", "GB-month, Standard", 0.023, 1, _LIST, "not looked up"),
    "sns_email": Price("SNS", "e-mail notification", 2.00, 100_000, _LIST, "not looked up"),
    "logs_gb": Price("CloudWatch", "GB of logs taken in", 0.50, 1, _LIST, "not looked up"),
    "metric_month": Price("CloudWatch", "metric and month", 0.30, 1, _LIST, "not looked up"),
    "alarm_month": Price("CloudWatch", "alarm metric and month", 0.10, 1, _LIST, "not looked up"),
    "dashboard_month": Price("CloudWatch", "dashboard and month", 3.00, 1, _LIST, "not looked up"),
    "secret_month": Price("Secrets Manager", "secret and month", 0.40, 1, _LIST, "not looked up"),
    "key_month": Price("KMS", "customer key and month", 1.00, 1, _LIST, "not looked up"),
}
