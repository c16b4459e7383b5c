"""Where the Custom Event Bus exists, and which Region a synth is for."""

from __future__ import annotations

REGIONS_WITH_THE_BUS = (
    "us-east-1",
    "us-east-2",
    "us-west-2",
    "eu-west-1",
    "eu-central-1",
    "eu-north-1",
    "eu-south-2",
    "ap-east-1",
    "ap-northeast-1",
    "ap-south-1",
    "ap-southeast-1",
    "ap-southeast-2",
    "ap-southeast-5",
    "ap-southeast-7",
)
"""Endpoints of `eventsv2` in botocore 1.44.8 (November 2026). AWS publishes no list of its own."""

REGION_VARIABLES = ("CDK_DEFAULT_REGION", "AWS_REGION")
"""Read in this order where the setting `region` is not given; the CDK CLI sets the first from the user's profile."""
