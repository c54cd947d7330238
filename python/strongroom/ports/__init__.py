"""The contracts: one Protocol per aggregate."""

from strongroom.ports.agents import AgentStore as AgentStore
from strongroom.ports.conversations import UNSET as UNSET
from strongroom.ports.conversations import ConversationStore as ConversationStore
from strongroom.ports.interactions import InteractionStore as InteractionStore
from strongroom.ports.jobs import JobDispatcher as JobDispatcher
from strongroom.ports.locks import DistributedLockStore as DistributedLockStore
from strongroom.ports.messages import MessageStore as MessageStore
from strongroom.ports.principal_memory import PrincipalMemoryStore as PrincipalMemoryStore
from strongroom.ports.realtime import RealtimePublisher as RealtimePublisher
from strongroom.ports.runs import CheckpointStore as CheckpointStore
from strongroom.ports.runs import RunStore as RunStore
from strongroom.ports.schema import SchemaManager as SchemaManager
from strongroom.ports.session_state import SessionStateStore as SessionStateStore
from strongroom.ports.skills import SkillStore as SkillStore
from strongroom.ports.summaries import ThreadSummaryStore as ThreadSummaryStore
from strongroom.ports.tenants import TenantStore as TenantStore
