"""The ports on SQL: one public method is one call of one SQL function, over any transport."""

from strongroom.stores.agents import SqlAgentStore as SqlAgentStore
from strongroom.stores.artifacts import SqlArtifactStore as SqlArtifactStore
from strongroom.stores.audit import SqlAuditStore as SqlAuditStore
from strongroom.stores.blob_removals import SqlBlobRemovalStore as SqlBlobRemovalStore
from strongroom.stores.conversations import SqlConversationStore as SqlConversationStore
from strongroom.stores.evaluations import SqlEvaluationStore as SqlEvaluationStore
from strongroom.stores.files import SqlFileMetadataStore as SqlFileMetadataStore
from strongroom.stores.frameworks import SqlFrameworkStore as SqlFrameworkStore
from strongroom.stores.indexes import SqlKeywordIndex as SqlKeywordIndex
from strongroom.stores.indexes import SqlVectorIndex as SqlVectorIndex
from strongroom.stores.interactions import SqlInteractionStore as SqlInteractionStore
from strongroom.stores.jobs import SqlJobDispatcher as SqlJobDispatcher
from strongroom.stores.knowledge import SqlKnowledgeStore as SqlKnowledgeStore
from strongroom.stores.lifecycle import SqlLifecycleStore as SqlLifecycleStore
from strongroom.stores.locks import SqlDistributedLockStore as SqlDistributedLockStore
from strongroom.stores.memory_sessions import SqlMemoryStore as SqlMemoryStore
from strongroom.stores.messages import SqlMessageStore as SqlMessageStore
from strongroom.stores.principal_memory import (
    SqlPrincipalMemoryStore as SqlPrincipalMemoryStore,
)
from strongroom.stores.runs import SqlCheckpointStore as SqlCheckpointStore
from strongroom.stores.runs import SqlRunStore as SqlRunStore
from strongroom.stores.session_state import SqlSessionStateStore as SqlSessionStateStore
from strongroom.stores.skills import SqlSkillStore as SqlSkillStore
from strongroom.stores.summaries import SqlThreadSummaryStore as SqlThreadSummaryStore
from strongroom.stores.tenants import SqlTenantStore as SqlTenantStore
from strongroom.stores.tool_outputs import SqlToolOutputStore as SqlToolOutputStore
from strongroom.stores.transcripts import SqlTranscriptStore as SqlTranscriptStore
from strongroom.stores.usage import SqlUsageStore as SqlUsageStore
