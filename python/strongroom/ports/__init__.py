"""The contracts: one Protocol per aggregate."""

from strongroom.ports.conversations import UNSET as UNSET
from strongroom.ports.conversations import ConversationStore as ConversationStore
from strongroom.ports.messages import MessageStore as MessageStore
from strongroom.ports.schema import SchemaManager as SchemaManager
from strongroom.ports.session_state import SessionStateStore as SessionStateStore
from strongroom.ports.summaries import ThreadSummaryStore as ThreadSummaryStore
from strongroom.ports.tenants import TenantStore as TenantStore
