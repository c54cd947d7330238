"""Frozen records: what goes into the ports and what comes out."""

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
    "AgentBinding",
    "AppendItem",
    "AppendResult",
    "ApprovalPart",
    "ArtifactPart",
    "CitationPart",
    "Conversation",
    "CreatedConversation",
    "CreatedMembership",
    "CreatedTenant",
    "CreatedThreadSummary",
    "ErrorPart",
    "ExecutionContext",
    "FilePart",
    "Finding",
    "Health",
    "History",
    "ImagePart",
    "Membership",
    "Message",
    "MessagePart",
    "NewMessage",
    "Page",
    "PurgeReceipt",
    "QuestionPart",
    "ReasoningPart",
    "SchemaChange",
    "SessionState",
    "SourcePart",
    "StatusPart",
    "Tenant",
    "TextPart",
    "ThreadSummary",
    "ToolCallPart",
    "ToolResultPart",
    "Viewer",
]
