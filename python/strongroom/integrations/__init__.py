"""What agent frameworks keep, kept here: a module and an extra for each framework.

| module | framework | what |
|---|---|---|
| ``openai_agents`` | OpenAI Agents SDK | ``StrongroomSession`` |
| ``langgraph`` | LangGraph | ``StrongroomSaver``, ``StrongroomStore`` |
| ``langchain`` | LangChain | ``StrongroomByteStore`` |
| ``claude_agent`` | Claude Agent SDK | ``StrongroomSessionStore`` |
| ``google_adk`` | Google ADK | ``StrongroomSessionService``, ``...MemoryService``, ``...ArtifactService`` |
| ``strands`` | Strands Agents | ``StrongroomSessionRepository`` |
| ``llama_index`` | LlamaIndex | ``StrongroomChatStore`` |
| ``pydantic_ai`` | Pydantic AI | ``StrongroomHistory``, ``StrongroomStepStore`` |

Each is thin, on :class:`strongroom.ports.FrameworkStore`, and bound to one tenant when it is made:
neither a model nor a framework's call can name another.
"""
