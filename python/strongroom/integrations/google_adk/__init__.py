"""Google ADK: its sessions, memory and artifacts, kept in strongroom. Extra: ``google-adk``."""

from strongroom.integrations.google_adk.artifacts import (
    StrongroomArtifactService as StrongroomArtifactService,
)
from strongroom.integrations.google_adk.memory import (
    StrongroomMemoryService as StrongroomMemoryService,
)
from strongroom.integrations.google_adk.sessions import (
    StrongroomSessionService as StrongroomSessionService,
)
