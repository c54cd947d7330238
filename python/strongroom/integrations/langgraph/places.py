"""Where LangGraph's threads and namespaces lie."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.runnables import RunnableConfig

from strongroom.errors import InvalidArgument

FRAMEWORK = "langgraph"
SEPARATOR = "|"
"""What LangGraph puts between the levels of a namespace."""


def place_of(config: RunnableConfig) -> list[str]:
    """Return the path of the thread and namespace that a config names."""
    given = config["configurable"]
    namespace = str(given.get("checkpoint_ns") or "")
    levels = namespace.split(SEPARATOR) if namespace else []
    if "" in levels:
        raise InvalidArgument(
            "checkpoint_ns has an empty level",
            detail={"path": "configurable.checkpoint_ns"},
            hint="Levels are separated by single bars.",
        )
    return [thread_of(given["thread_id"]), *levels]


def thread_of(thread_id: object) -> str:
    """Return a thread's label; what LangGraph's own savers take as such, and no thread by default.

    Raises:
        InvalidArgument: SR001, it is None: all who forget it would share a thread.
    """
    if thread_id is None:
        raise InvalidArgument(
            "thread_id is None",
            detail={"path": "configurable.thread_id"},
            hint="Give every conversation an id of its own.",
        )
    return str(thread_id)


def prefix_of(config: RunnableConfig | None) -> tuple[list[str], bool]:
    """Return the path below which a list looks, and whether only that very path is meant."""
    if config is None or "thread_id" not in config["configurable"]:
        return [], False
    return place_of(config), config["configurable"].get("checkpoint_ns") is not None


def config_of(path: Sequence[str], checkpoint_id: str) -> RunnableConfig:
    """Return the config that names a checkpoint."""
    return {
        "configurable": {
            "thread_id": path[0],
            "checkpoint_ns": SEPARATOR.join(path[1:]),
            "checkpoint_id": checkpoint_id,
        }
    }
