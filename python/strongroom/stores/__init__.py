"""The ports on SQL: one public method is one call of one SQL function, over any transport."""

from strongroom.stores.conversations import SqlConversationStore as SqlConversationStore
from strongroom.stores.messages import SqlMessageStore as SqlMessageStore
from strongroom.stores.session_state import SqlSessionStateStore as SqlSessionStateStore
from strongroom.stores.summaries import SqlThreadSummaryStore as SqlThreadSummaryStore
from strongroom.stores.tenants import SqlTenantStore as SqlTenantStore
