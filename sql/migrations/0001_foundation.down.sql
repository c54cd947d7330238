-- strongroom 0001: the way back. Both schemas go, with everything in them. The role strongroom_host
-- stays: it belongs to the server, and other databases and logins may use it.

select strongroom_private.begin_reversal(1, '{strongroom.tenants,strongroom.memberships}');

drop schema strongroom cascade;
drop schema strongroom_private cascade;
select pg_catalog.pg_notify('pgrst', 'reload schema');
