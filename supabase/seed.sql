-- A demo tenant, made through the same functions that hosts call. Running it again changes nothing.

select strongroom.create_tenant(
    p_tenant_id => 'demo',
    p_name => 'Demo tenant'
);

select strongroom.add_member(
    p_tenant_id => 'demo',
    p_principal_id => 'ada',
    p_role_ids => '{admin}',
    p_membership_id => 'demo-ada'
);

select strongroom.add_member(
    p_tenant_id => 'demo',
    p_principal_id => 'grace',
    p_role_ids => '{support}',
    p_membership_id => 'demo-grace'
);

select strongroom.create_conversation(
    p_tenant_id => 'demo',
    p_owner_id => 'ada',
    p_conversation_id => 'demo-returns',
    p_title => 'Where is my parcel?',
    p_participant_ids => '{grace}'
);

select strongroom.append_messages(
    p_tenant_id => 'demo',
    p_conversation_id => 'demo-returns',
    p_messages => $json$[
        {
            "id": "demo-returns-1",
            "role": "user",
            "author_id": "ada",
            "parts": [{"type": "text", "schema_version": 1, "text": "Where is my parcel?"}]
        },
        {
            "id": "demo-returns-2",
            "role": "assistant",
            "parts": [
                {
                    "type": "tool-call",
                    "schema_version": 1,
                    "tool_call_id": "call-1",
                    "tool_name": "track_parcel",
                    "input": {"order": "4711"}
                }
            ]
        },
        {
            "id": "demo-returns-3",
            "role": "tool",
            "parts": [
                {
                    "type": "tool-result",
                    "schema_version": 1,
                    "tool_call_id": "call-1",
                    "tool_name": "track_parcel",
                    "output": {"state": "out for delivery", "city": "Zürich"}
                }
            ]
        },
        {
            "id": "demo-returns-4",
            "role": "assistant",
            "parts": [
                {
                    "type": "text",
                    "schema_version": 1,
                    "text": "It is out for delivery in Zürich and arrives today. 📦"
                }
            ]
        }
    ]$json$
);
