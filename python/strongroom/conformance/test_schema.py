"""The schema manager, health, and what an adapter says that it can do."""

from __future__ import annotations

from typing import get_args

import pytest

from strongroom.conformance.adapter import Adapter
from strongroom.conformance.calls import everything, fill
from strongroom.errors import InvalidArgument, SchemaVersionError
from strongroom.models.health import Capability


async def test_the_schema_is_at_its_target(adapter: Adapter) -> None:
    adapter.needs("managed_schema")
    schema = adapter.store.schema
    assert schema.target_version() >= 1
    assert await schema.current_version() == schema.target_version()
    assert await schema.plan() == ()


async def test_applying_again_does_nothing(adapter: Adapter) -> None:
    adapter.needs("managed_schema")
    target = await fill(adapter.store)
    before = await everything(adapter.store, target)
    for _ in range(2):
        await adapter.store.schema.apply()
    assert await adapter.store.schema.plan() == ()
    assert await everything(adapter.store, target) == before


async def test_the_way_back_never_loses_data_unasked(adapter: Adapter) -> None:
    adapter.needs("managed_schema")
    target = await fill(adapter.store)
    before = await everything(adapter.store, target)
    schema = adapter.store.schema
    await schema.downgrade(to_version=schema.target_version())
    for version in range(schema.target_version()):
        with pytest.raises(SchemaVersionError):
            await schema.downgrade(to_version=version)
        assert await schema.current_version() == schema.target_version()
    for wrong in (-1, schema.target_version() + 1):
        with pytest.raises(InvalidArgument):
            await schema.downgrade(to_version=wrong)
    assert await schema.plan() == ()
    assert await everything(adapter.store, target) == before


async def test_health_says_what_is_true(adapter: Adapter) -> None:
    health = await adapter.store.health()
    assert set(health.capabilities) == adapter.capabilities
    assert adapter.capabilities <= set(get_args(Capability))
    assert health.schema_version == health.target_version == adapter.store.schema.target_version()
    assert (health.status == "degraded") == bool(health.warnings)
    if "row_level_security" in adapter.capabilities:
        unbound = [warning for warning in health.warnings if "row security" in warning]
        # Supabase gives that role BYPASSRLS, and whoever has its key shall know.
        assert bool(unbound) == (health.role == "service_role")
