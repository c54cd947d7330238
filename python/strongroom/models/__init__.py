"""Frozen records: what goes into the ports and what comes out."""

from strongroom.models.audit import (
    AuditEvent,
)
from strongroom.models.catalog import (
    Agent,
    AgentVersion,
    AgentVersionHead,
    CatalogSkill,
    CreatedAgent,
    CreatedSkill,
    PublishedAgentVersion,
    PublishedSkillVersion,
    ResolvedAgent,
    ResolvedSkill,
    Skill,
    SkillVersion,
    SkillVersionHead,
)
from strongroom.models.context import (
    ExecutionContext,
    Viewer,
)
from strongroom.models.conversations import (
    AgentBinding,
    Conversation,
    CreatedConversation,
)
from strongroom.models.health import (
    Finding,
    Health,
    SchemaChange,
)
from strongroom.models.interactions import (
    ApprovalGrant,
    Interaction,
    ResolvedInteraction,
)
from strongroom.models.jobs import (
    EnqueuedJob,
    Job,
    JobClaim,
    JobLease,
    JobQueue,
)
from strongroom.models.locks import (
    Lock,
)
from strongroom.models.messages import (
    AppendItem,
    AppendResult,
    Message,
    NewMessage,
)
from strongroom.models.pages import (
    Page,
)
from strongroom.models.parts import (
    ApprovalPart,
    ArtifactPart,
    CitationPart,
    ErrorPart,
    FilePart,
    ImagePart,
    MessagePart,
    QuestionPart,
    ReasoningPart,
    SourcePart,
    StatusPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from strongroom.models.principal_memory import (
    FoundMemoryFact,
    MemoryFact,
    MemoryPut,
    MemorySearch,
    MemoryStatus,
)
from strongroom.models.realtime import (
    NewTopicEvent,
    PublishedItem,
    Topic,
    TopicEvent,
)
from strongroom.models.runs import (
    Checkpoint,
    CheckpointHead,
    CreatedRun,
    Lease,
    NewRunEvent,
    Run,
    RunEvent,
    RunEventItem,
    RunQueue,
    SavedCheckpoint,
)
from strongroom.models.session_state import (
    SessionState,
)
from strongroom.models.summaries import (
    CreatedThreadSummary,
    History,
    ThreadSummary,
)
from strongroom.models.tenants import (
    CreatedMembership,
    CreatedTenant,
    Membership,
    PurgeReceipt,
    Tenant,
)

__all__ = [
    "Agent",
    "AgentBinding",
    "AgentVersion",
    "AgentVersionHead",
    "AppendItem",
    "AppendResult",
    "ApprovalGrant",
    "ApprovalPart",
    "ArtifactPart",
    "AuditEvent",
    "CatalogSkill",
    "Checkpoint",
    "CheckpointHead",
    "CitationPart",
    "Conversation",
    "CreatedAgent",
    "CreatedConversation",
    "CreatedMembership",
    "CreatedRun",
    "CreatedSkill",
    "CreatedTenant",
    "CreatedThreadSummary",
    "EnqueuedJob",
    "ErrorPart",
    "ExecutionContext",
    "FilePart",
    "Finding",
    "FoundMemoryFact",
    "Health",
    "History",
    "ImagePart",
    "Interaction",
    "Job",
    "JobClaim",
    "JobLease",
    "JobQueue",
    "Lease",
    "Lock",
    "Membership",
    "MemoryFact",
    "MemoryPut",
    "MemorySearch",
    "MemoryStatus",
    "Message",
    "MessagePart",
    "NewMessage",
    "NewRunEvent",
    "NewTopicEvent",
    "Page",
    "PublishedAgentVersion",
    "PublishedItem",
    "PublishedSkillVersion",
    "PurgeReceipt",
    "QuestionPart",
    "ReasoningPart",
    "ResolvedAgent",
    "ResolvedInteraction",
    "ResolvedSkill",
    "Run",
    "RunEvent",
    "RunEventItem",
    "RunQueue",
    "SavedCheckpoint",
    "SchemaChange",
    "SessionState",
    "Skill",
    "SkillVersion",
    "SkillVersionHead",
    "SourcePart",
    "StatusPart",
    "Tenant",
    "TextPart",
    "ThreadSummary",
    "ToolCallPart",
    "ToolResultPart",
    "Topic",
    "TopicEvent",
    "Viewer",
]
