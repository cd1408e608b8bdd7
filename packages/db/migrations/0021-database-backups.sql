-- Backups of databases. Written by the engine and through it, as service_runtime is: a backup outlives its database, so that there is
-- no reference to it.
create table database_backup (
  id uuid primary key,
  service_id uuid not null,
  organization_id uuid not null,
  environment_id uuid not null,
  name text not null,
  message text not null default '',
  kind text not null check (kind in ('MANUAL', 'SCHEDULED', 'SAFETY')),
  -- Of which database, and with what it is reached: name, type, version, login, database, port, host, id of its password.
  subject jsonb not null,
  status text not null default 'QUEUED' check (status in ('QUEUED', 'RUNNING', 'GOOD', 'FAILED')),
  -- Each attempt has a number; what an earlier one still wants to write is refused.
  attempt integer not null default 0,
  -- Its key, sealed by the vault.
  sealed_key bytea,
  size_bytes bigint,
  sha256 text,
  server_version text,
  image_id text,
  data_bytes bigint,
  failure jsonb,
  -- Since when its database is gone.
  orphaned_at timestamptz,
  -- To be removed, file first.
  is_leaving boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  begun_at timestamptz,
  stored_at timestamptz,
  proven_at timestamptz,
  finished_at timestamptz
);
create index database_backup_list on database_backup (service_id, created_at desc, id);
create index database_backup_environment on database_backup (environment_id);
create index database_backup_open on database_backup (created_at) where status in ('QUEUED', 'RUNNING') or is_leaving;
-- However many processes find one due, one of them has it.
create unique index database_backup_scheduled on database_backup (service_id)
  where kind = 'SCHEDULED' and status in ('QUEUED', 'RUNNING') and not is_leaving;

-- What was asked to be restored into a database. safety_id: the backup that is made of it first; it begins when that is good.
create table database_restore (
  id uuid primary key,
  service_id uuid not null,
  organization_id uuid not null,
  environment_id uuid not null,
  backup_id uuid not null,
  safety_id uuid,
  subject jsonb not null,
  status text not null default 'QUEUED' check (status in ('QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED')),
  attempt integer not null default 0,
  failure jsonb,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  begun_at timestamptz,
  finished_at timestamptz
);
create index database_restore_list on database_restore (service_id, created_at desc, id);
create index database_restore_open on database_restore (created_at) where status in ('QUEUED', 'RUNNING');
create unique index database_restore_one on database_restore (service_id) where status in ('QUEUED', 'RUNNING');

-- When the next scheduled backup of a database is due.
create table database_backup_schedule (
  service_id uuid primary key references service (id) on delete cascade,
  next_at timestamptz not null
);

select watch_table('database_backup', 'PARENT');
select watch_table('database_restore', 'PARENT');
