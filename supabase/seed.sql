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
