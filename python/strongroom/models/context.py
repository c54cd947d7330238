"""Who acts: the execution context that a host builds, and the viewer of a read."""

from __future__ import annotations

from strongroom.models.base import Id, Name, Record


class Viewer(Record):
    """A principal through whose eyes a host reads, with the permission rules of a signed-in user.

    Example:
        >>> from strongroom import Viewer
        >>> Viewer(principal_id="ada", role_ids=["support"]).principal_id
        'ada'
    """

    principal_id: Id
    role_ids: tuple[Id, ...] = ()


class ExecutionContext(Viewer):
    """The identity and surroundings of one piece of work.

    The host builds it; nothing that a model generates may override a field of it, and it is frozen.
    It can stand wherever a viewer is asked for; then its tenant must be the tenant of the call.
    """

    tenant_id: Id
    membership_id: Id | None = None
    locale: Name = "en"
    timezone: Name = "UTC"
    conversation_id: Id | None = None
    run_id: Id | None = None
    request_id: Id
