"""LangGraph: its checkpoints and its store, kept in strongroom. Extra: ``langgraph``."""

from strongroom.integrations.langgraph.listing import CheckpointHead as CheckpointHead
from strongroom.integrations.langgraph.saver import StrongroomSaver as StrongroomSaver
from strongroom.integrations.langgraph.store import StrongroomStore as StrongroomStore
