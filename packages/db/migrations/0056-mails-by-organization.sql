-- Invitations by mail are counted for each organization. null: another kind of mail, or queued by an earlier version.
alter table mail add column organization_id uuid;
