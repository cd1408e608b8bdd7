-- Where images and charts come from. config: what is shown of the credentials; sealed: what is not, as JSON, encrypted.
create table container_registry (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  name text not null,
  description text not null default '',
  kind text not null,
  url text not null,
  config jsonb not null default '{}',
  sealed bytea,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create unique index container_registry_name on container_registry (organization_id, lower(name));

create table helm_repository (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  name text not null,
  description text not null default '',
  kind text not null,
  url text not null,
  skip_tls_verification boolean not null default false,
  config jsonb not null default '{}',
  sealed bytea,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create unique index helm_repository_name on helm_repository (organization_id, lower(name));

create table annotation_group (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  name text not null,
  annotations jsonb not null,
  scopes text[] not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create unique index annotation_group_name on annotation_group (organization_id, lower(name));

create table label_group (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  name text not null,
  labels jsonb not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create unique index label_group_name on label_group (organization_id, lower(name));

-- Which services use them. Partial, so that services that use none are not slower to write: a spec without groups has no such key.
create index service_container_registry on service ((coalesce(spec ->> 'registry_id', spec #>> '{source,image,registry_id}')))
  where type in ('CONTAINER', 'JOB');
create index service_helm_repository on service ((spec #>> '{source,helm_repository,repository}')) where type = 'HELM';
create index service_annotation_group on service using gin ((spec -> 'annotations_groups')) where spec ? 'annotations_groups';
create index service_label_group on service using gin ((spec -> 'labels_groups')) where spec ? 'labels_groups';
