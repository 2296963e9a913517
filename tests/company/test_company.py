"""Long lives and company: whatever several processes and handles do to a graph, every read shows what a model says.

Each history is drawn from a seed: writes, branches that are deleted and made again, graphs that are replaced, copied
and restored, upkeep, and processes that are paused, killed, forked and interrupted on the way. The suite runs a fixed
few; `make soak` draws new ones.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from company.places import Bucket
from company.plan import drawn
from company.trials import explained, tried
from company.worker import TTL_S
from omnigraph.storage.leases import s3 as lease_objects
from support.servers.s3_server import S3Server

STEPS, STEPS_ON_S3 = 120, 20


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [1, 2])
def test_every_read_shows_what_the_model_says_whatever_several_processes_do(seed: int) -> None:
    plan = drawn(seed, STEPS, timed=False)
    failure = tried(plan)
    assert failure is None, f"seed {seed}: {explained(plan, failure)}"


@pytest.mark.s3
@pytest.mark.timeout(300)
def test_every_read_shows_what_the_model_says_where_a_paused_process_loses_its_lease(
    s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease_objects, "LEASE_TTL_S", TTL_S)
    monkeypatch.setattr(lease_objects, "RENEW_EVERY_S", TTL_S / 3)
    monkeypatch.setattr(lease_objects, "RETRY_EVERY_S", TTL_S / 15)
    monkeypatch.setattr(lease_objects, "CLOCK_SKEW_S", 0.0)

    def ground(folder: Path) -> Bucket:
        return Bucket(s3.uri(f"{tmp_path.name}/{folder.name}"), s3.store())

    plan = drawn(1, STEPS_ON_S3, on_disk=False, timed=False)
    failure = tried(plan, ground)
    assert failure is None, explained(plan, failure, ground)
