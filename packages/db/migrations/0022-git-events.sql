-- Pushes and pull requests of git hosts: what came in, what was done for each service, and why not.

-- One name for a repository, however its URL is written: `git.example.org/owner/name`. The paths of the hosts with a word of their own ignore case.
create function git_repository_key(url text, provider text) returns text language sql immutable parallel safe as $$
  select case
    when url is null then null
    when url !~* '^https?://' then regexp_replace(regexp_replace(url, '^file://(localhost)?', ''), '(\.git)?/*$', '')
    else regexp_replace(lower(substring(url from '^[a-zA-Z]+://([^/]+)')), '^www\.|:(80|443)$', '', 'g') || '/' ||
      case when coalesce(provider, 'GENERIC') = 'GENERIC' then path else lower(path) end
    end
    from (select trim(both '/' from regexp_replace(coalesce(substring(url from '^[a-zA-Z]+://[^/]+(/.*)$'), ''), '(\.git)?/*$', '')) as path) as parts
$$;

create index service_git_repository on service
  (organization_id, git_repository_key(spec #>> '{git_repository,url}', spec #>> '{git_repository,provider}'))
  where spec #>> '{git_repository,url}' is not null;

-- The address that a git host tells events to: one for each repository of an organization (adr/0013), whatever number of services
-- come from it. sealed: the secret that the host signs with.
create table git_webhook (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  repository text not null,
  name text not null,
  sealed bytea not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create unique index git_webhook_repository on git_webhook (organization_id, repository);
select watch_table('git_webhook', 'PARENT', 'CONFIG');

-- What is known of a repository beside that: when it was heard of, and how it is polled. heads: the newest commit by branch.
create table git_repository (
  organization_id uuid not null references organization (id) on delete cascade,
  repository text not null,
  heads jsonb,
  next_poll_at timestamptz not null default clock_timestamp(),
  polled_at timestamptz,
  failures integer not null default 0,
  failure text,
  delivered_at timestamptz,
  refused_at timestamptz,
  refusal text,
  primary key (organization_id, repository)
);
create index git_repository_due on git_repository (next_poll_at);

-- The ledger. delivery: what the host, or the poll, calls it, so that it counts once. due_at null: nothing is to be done any more.
create table git_event (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null references organization (id) on delete cascade,
  repository text not null,
  sequence bigint generated always as identity,
  source text not null check (source in ('WEBHOOK', 'POLLING')),
  delivery text not null,
  kind text not null check (kind in ('PUSH', 'PULL_REQUEST', 'OTHER')),
  event jsonb not null,
  status text not null check (status in ('WAITING', 'DONE', 'REFUSED', 'FAILED')),
  reason text,
  times integer not null default 1,
  attempts integer not null default 0,
  due_at timestamptz,
  created_at timestamptz not null default clock_timestamp()
);
create unique index git_event_delivery on git_event (organization_id, repository, delivery);
create index git_event_due on git_event (due_at) where due_at is not null;
create index git_event_list on git_event (organization_id, repository, sequence desc);
create index git_event_all on git_event (organization_id, sequence desc);

-- What was done for one service. Without references: it is told when the service is gone, too.
create table git_verdict (
  event_id uuid not null references git_event (id) on delete cascade,
  service_id uuid not null,
  service_name text not null,
  environment_id uuid not null,
  environment_name text not null,
  verdict text not null check (verdict in ('DEPLOYED', 'PREVIEWED', 'PREVIEW_REMOVED', 'IGNORED', 'FAILED')),
  reason text not null,
  commit_id text,
  deployment_request_id uuid,
  created_at timestamptz not null default clock_timestamp(),
  primary key (event_id, service_id)
);
create index git_verdict_service on git_verdict (service_id, created_at desc);

-- One preview for each environment and pull request (or image and tag). environment_id null: it is gone.
create table git_preview (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  source_environment_id uuid not null references environment (id) on delete cascade,
  environment_id uuid references environment (id) on delete set null,
  repository text not null,
  request text not null,
  state text not null check (state in ('OPEN', 'CLOSING', 'CLOSED')),
  why_closed text,
  last_commit_id text,
  -- Ids of its services by those of what they are copies of.
  services jsonb not null default '{}',
  expires_at timestamptz,
  due_at timestamptz,
  attempts integer not null default 0,
  created_at timestamptz not null default clock_timestamp()
);
create unique index git_preview_open on git_preview (source_environment_id, repository, request) where state <> 'CLOSED';
create index git_preview_environment on git_preview (environment_id);
create index git_preview_due on git_preview (due_at) where state = 'CLOSING';
create index git_preview_expires on git_preview (expires_at) where state = 'OPEN';
