-- A link to set a password that a member makes for another one is in the audit log of the organization.
alter table one_time_link add column organization_id uuid references organization (id) on delete cascade;
create index one_time_link_organization on one_time_link (organization_id);
select watch_table('one_time_link', 'MEMBERS_AND_ROLES');
