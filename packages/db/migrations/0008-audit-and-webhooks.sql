-- Versions, the audit log, idempotency keys and webhooks.
--
-- A change that the API makes carries what is known of its request in the setting `davit.request` of its transaction (see
-- packages/db/src/change-request.ts). Triggers read it: so that a change, the check of its version and its entry in the audit
-- log are one transaction, whatever statement makes it, and no statement can forget them.

-- The version of a record, as an ETag has it. updated_at has microseconds, answers have milliseconds.
create function record_version(at timestamptz) returns text language sql stable as $$
  select to_char(date_trunc('milliseconds', at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;

-- For every table with id and updated_at. Refuses a change of a version that the request does not expect, and lets each change
-- of a record have a time of its own, so that the time is its version.
create function keep_version() returns trigger language plpgsql as $$
declare
  request jsonb := nullif(current_setting('davit.request', true), '')::jsonb;
begin
  if request ? 'if_match' and request #>> '{if_match,id}' = old.id::text then
    if not request #> '{if_match,versions}' ? record_version(old.updated_at) then
      raise exception 'the record has another version by now' using errcode = 'DV412';
    end if;
    -- Once a transaction: what it changes itself was changed by nobody else.
    perform set_config('davit.request', (request - 'if_match')::text, true);
  end if;
  if tg_op = 'DELETE' then
    return old;
  end if;
  new.updated_at := greatest(clock_timestamp(), old.updated_at + interval '1 millisecond');
  return new;
end
$$;

-- One change of one record. No foreign keys: the log outlives what it speaks of. sequence: the order, and what cursors point at.
-- One index, as each costs every change 5 µs; what is too old is found by looking through all of it, once an hour.
create table audit_event (
  organization_id uuid not null,
  sequence bigint generated always as identity,
  id uuid not null default gen_random_uuid(),
  created_at timestamptz not null default clock_timestamp(),
  event_type text not null,
  target_type text not null,
  target_id uuid,
  target_name text not null default '',
  sub_target_type text,
  project_id uuid,
  project_name text,
  environment_id uuid,
  environment_name text,
  origin text not null,
  triggered_by text not null,
  actor text not null,
  operation text,
  user_agent text,
  address text,
  before jsonb,
  after jsonb,
  primary key (organization_id, sequence)
);

-- A POST that named an `Idempotency-Key`. sealed: what was asked and, once it is answered, the answer. has_changed: set in the
-- transaction of the first change, so that a key whose answer got lost with its process is not carried out a second time.
create table idempotency_key (
  id uuid primary key,
  actor text not null,
  key text not null,
  sealed bytea not null,
  is_answered boolean not null default false,
  has_changed boolean not null default false,
  runner text not null,
  created_at timestamptz not null default clock_timestamp(),
  unique (actor, key)
);
create index idempotency_key_age on idempotency_key (created_at);

create function mark_idempotency_key(request jsonb) returns void language sql as $$
  update idempotency_key set has_changed = true where id = (request ->> 'idempotency_id')::uuid and not has_changed
$$;

-- What may be seen of a row with secrets, which are sealed or hashed: never these columns. That one changed is told.
create function masked(present jsonb, former jsonb, hidden text[]) returns jsonb language sql immutable as $$
  select jsonb_object_agg(key, case
    when key <> all (hidden) or value = 'null' then value
    when former is not null and value is distinct from former -> key then to_jsonb('[masked, changed]'::text)
    else to_jsonb('[masked]'::text) end)
    from jsonb_each(present)
$$;

-- Writes the event of a changed row. Arguments: type of target, type of sub-target or '', columns that are masked. `SERVICE`: the
-- row's own type. `PARENT`: the row is a part of what it names first of service, environment, project, cluster and organization. A
-- part that comes or goes with its parent has no event of its own. What a custom role allows is the role's, a membership the
-- person's. Without a request nothing is written: what the engine does, its own events tell.
create function record_change() returns trigger language plpgsql as $$
declare
  request jsonb := nullif(current_setting('davit.request', true), '')::jsonb;
  unseen constant text[] := array['updated_at', 'last_updated_by', 'deleting', 'stage_entry_id', 'stage_entered_at', 'next_at'];
  former jsonb;
  present jsonb;
  subject jsonb;
  event text;
  kind text := tg_argv[0];
  target uuid;
  target_label text;
  organization uuid;
  project uuid;
  project_label text;
  environment uuid;
  environment_label text;
  parent_version xid;
  parent_since timestamptz;
  hidden text[] := tg_argv[2];
begin
  if request is null then
    return null;
  end if;
  if request ? 'idempotency_id' then
    perform mark_idempotency_key(request);
  end if;
  if tg_op <> 'INSERT' then
    former := to_jsonb(old);
  end if;
  if tg_op <> 'DELETE' then
    present := to_jsonb(new);
  end if;
  if tg_op = 'UPDATE' and former - unseen = present - unseen then
    return null;
  end if;
  subject := coalesce(present, former);
  target := subject ->> 'id';
  target_label := coalesce(subject ->> 'name', subject ->> 'target_url', subject ->> 'email', '');
  organization := subject ->> case tg_table_name when 'organization' then 'id' else 'organization_id' end;
  project := subject ->> case tg_table_name when 'project' then 'id' else 'project_id' end;
  environment := subject ->> case tg_table_name when 'environment' then 'id' else 'environment_id' end;
  if kind = 'SERVICE' then
    kind := subject ->> 'type';
  elsif kind = 'PARENT' then
    if subject ->> 'service_id' is not null then
      select s.type, s.id, s.name, s.organization_id, s.project_id, s.environment_id, s.xmin, s.created_at
        into kind, target, target_label, organization, project, environment, parent_version, parent_since
        from service s where s.id = (subject ->> 'service_id')::uuid;
    elsif environment is not null then
      select 'ENVIRONMENT', e.id, e.name, e.organization_id, e.project_id, e.xmin, e.created_at
        into kind, target, target_label, organization, project, parent_version, parent_since
        from environment e where e.id = environment;
    elsif project is not null then
      select 'PROJECT', p.id, p.name, p.organization_id, p.xmin, p.created_at
        into kind, target, target_label, organization, parent_version, parent_since
        from project p where p.id = project;
    elsif subject ->> 'cluster_id' is not null then
      select 'CLUSTER', c.id, c.name, c.organization_id, c.xmin, c.created_at
        into kind, target, target_label, organization, parent_version, parent_since
        from cluster c where c.id = (subject ->> 'cluster_id')::uuid;
    else
      select 'ORGANIZATION', o.id, o.name, o.xmin, o.created_at into kind, target, target_label, parent_version, parent_since
        from organization o where o.id = organization;
    end if;
    if not found or (tg_op = 'INSERT' and parent_version = pg_current_xact_id()::xid and parent_since >= transaction_timestamp()) then
      return null;
    end if;
  elsif organization is null and subject ? 'custom_role_id' then
    select r.id, r.name, r.organization_id into target, target_label, organization
      from custom_role r where r.id = (subject ->> 'custom_role_id')::uuid;
  elsif subject ? 'person_id' then
    target := (subject ->> 'person_id')::uuid;
    select coalesce(p.name, p.email, '') into target_label from person p where p.id = target;
    target_label := coalesce(target_label, '');
  end if;
  if organization is null then
    return null;
  end if;
  if environment is not null then
    select e.name, e.project_id, p.name into environment_label, project, project_label
      from environment e join project p on p.id = e.project_id where e.id = environment;
  elsif project is not null then
    select p.name into project_label from project p where p.id = project;
  end if;
  if hidden is not null then
    present := masked(present, former, hidden);
    former := masked(former, null, hidden);
  end if;
  -- A word of the operation's own, as CLONE; those of deployments are for `record_deployment`.
  event := request ->> 'event';
  if event is null or starts_with(event, 'TRIGGER_') then
    event := case tg_op when 'INSERT' then 'CREATE' when 'DELETE' then 'DELETE' else 'UPDATE' end;
  end if;
  insert into audit_event (organization_id, event_type, target_type, target_id, target_name, sub_target_type, project_id, project_name,
                           environment_id, environment_name, origin, triggered_by, actor, operation, user_agent, address, before, after)
  values (organization, event, kind, target, target_label, nullif(tg_argv[1], ''),
          coalesce(project, case tg_table_name when 'environment' then (subject ->> 'project_id')::uuid end),
          coalesce(project_label, case tg_table_name when 'project' then target_label end), environment,
          coalesce(environment_label, case tg_table_name when 'environment' then target_label end),
          request ->> 'origin', request ->> 'triggered_by', request ->> 'actor', request ->> 'operation', request ->> 'user_agent',
          request ->> 'address', former, present);
  return null;
end
$$;

-- What was asked of the engine, and what became of it. Arguments: for `REQUEST`, `CANCEL` or `END`.
create function record_deployment() returns trigger language plpgsql as $$
declare
  request jsonb := nullif(current_setting('davit.request', true), '')::jsonb;
  purpose constant text := tg_argv[0];
  is_service constant boolean := tg_table_name = 'deployment_service';
  row_now constant jsonb := to_jsonb(new);
  asked deployment;
  event text;
  environment_label text;
  project_label text;
begin
  if request ? 'idempotency_id' and purpose <> 'END' then
    perform mark_idempotency_key(request);
  end if;
  -- A second request of the same actor joins the first one, by an update; the engine's own updates are nobody's request.
  if purpose = 'REQUEST' and tg_op = 'UPDATE' and request is null then
    return null;
  end if;
  select * into asked from deployment d where d.id = (row_now ->> case when is_service then 'deployment_id' else 'id' end)::uuid;
  if not found then
    return null;
  end if;
  event := case purpose
    when 'CANCEL' then 'TRIGGER_CANCEL'
    when 'REQUEST' then case
      when is_service and asked.whole_environment then asked.action || '_QUEUED'
      when request ->> 'event' like 'TRIGGER\_%' then request ->> 'event'
      else 'TRIGGER_' || asked.action end
    else case
      when row_now ->> case when is_service then 'phase' else 'status' end <> 'SUCCEEDED' then asked.action || '_FAILED'
      when asked.action = 'STOP' then 'STOPPED'
      when asked.action = 'DELETE' then 'DELETED'
      else asked.action || 'ED' end
    end;
  select e.name, p.name into environment_label, project_label
    from environment e join project p on p.id = e.project_id where e.id = asked.environment_id;
  insert into audit_event (organization_id, event_type, target_type, target_id, target_name, project_id, project_name,
                           environment_id, environment_name, origin, triggered_by, actor, operation, user_agent, address, after)
  values (asked.organization_id, event, case when is_service then row_now ->> 'service_type' else 'ENVIRONMENT' end,
          case when is_service then (row_now ->> 'service_id')::uuid else asked.environment_id end,
          coalesce(case when is_service then row_now ->> 'service_name' else environment_label end, ''),
          asked.project_id, project_label, asked.environment_id, environment_label,
          coalesce(request ->> 'origin', asked.origin), coalesce(request ->> 'triggered_by', asked.triggered_by),
          coalesce(request ->> 'actor', asked.actor), request ->> 'operation', request ->> 'user_agent', request ->> 'address',
          jsonb_build_object('deployment_request_id', asked.id, 'action', asked.action) ||
            case when is_service then jsonb_build_object('release_id', row_now -> 'release_id', 'failure', row_now #> '{failure,code}')
                 else jsonb_build_object('status', asked.status) end);
  return null;
end
$$;

-- A table that belongs to the API gets all of this by one line. Its columns of bytes are what nobody may see.
create function watch_table(watched regclass, target text, sub_target text default '') returns void language plpgsql as $$
declare
  hidden text[] := (select array_agg(attname) from pg_attribute where attrelid = watched and atttypid = 'bytea'::regtype and attnum > 0);
begin
  if 2 = (select count(*) from pg_attribute where attrelid = watched and attname in ('id', 'updated_at')) then
    execute format('create trigger keep_version before update or delete on %s for each row execute function keep_version()', watched);
  end if;
  -- The condition spares changes of the engine, and creates that write their event themselves, 20 µs each.
  execute format('create trigger record_change after insert or update or delete on %s for each row
                    when (current_setting(''davit.request'', true) <> '''') execute function record_change(%s)',
                 watched, concat_ws(', ', quote_literal(target), quote_literal(sub_target), quote_literal(hidden::text)));
end
$$;

-- sealed: the secret of the receiver.
create table webhook (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  kind text not null check (kind in ('STANDARD', 'SLACK')),
  target_url text not null,
  sealed bytea,
  description text not null default '',
  enabled boolean not null default true,
  events text[] not null,
  project_names_filter text[] not null default '{}',
  environment_types_filter text[] not null default '{}',
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create index webhook_list on webhook (organization_id, created_at, id);

-- The outbox: written in the transaction that it tells asked. due_at null: delivered, or given up.
create table webhook_delivery (
  id uuid primary key default gen_random_uuid(),
  webhook_id uuid not null references webhook (id) on delete cascade,
  sequence bigint generated always as identity,
  event text not null,
  payload jsonb not null,
  attempts integer not null default 0,
  due_at timestamptz default clock_timestamp(),
  is_taken boolean not null default false,
  created_at timestamptz not null default clock_timestamp()
);
create index webhook_delivery_due on webhook_delivery (due_at) where due_at is not null;
create index webhook_delivery_webhook on webhook_delivery (webhook_id, sequence);

-- Each attempt, as it went. status_code 0: there was no answer.
create table webhook_attempt (
  id uuid primary key default gen_random_uuid(),
  webhook_id uuid not null references webhook (id) on delete cascade,
  delivery_id uuid not null references webhook_delivery (id) on delete cascade,
  sequence bigint generated always as identity,
  kind text not null,
  event text not null,
  target_url text not null,
  request jsonb not null,
  status_code integer not null,
  response_body text,
  created_at timestamptz not null default clock_timestamp()
);
create index webhook_attempt_list on webhook_attempt (webhook_id, sequence desc);
create index webhook_attempt_delivery on webhook_attempt (delivery_id);


select watch_table('organization', 'ORGANIZATION');
select watch_table('project', 'PROJECT');
select watch_table('environment', 'ENVIRONMENT');
select watch_table('service', 'SERVICE');
select watch_table('cluster', 'CLUSTER');
select watch_table('webhook', 'WEBHOOK');
select watch_table('deployment_stage', 'PARENT', 'DEPLOYMENT_STAGE');
select watch_table('environment_rule', 'PARENT', 'DEPLOYMENT_RULE');
select watch_table('project_rule', 'PARENT', 'DEPLOYMENT_RULE');
select watch_table('deployment_restriction', 'PARENT', 'CONFIG');
select watch_table('api_token', 'PARENT', 'API_TOKEN');
select watch_table('git_token', 'PARENT', 'GIT_TOKEN');
select watch_table('container_registry', 'CONTAINER_REGISTRY');
select watch_table('helm_repository', 'HELM_REPOSITORY');
select watch_table('annotation_group', 'PARENT', 'ANNOTATIONS_GROUP');
select watch_table('label_group', 'PARENT', 'LABELS_GROUP');
select watch_table('cloud_credentials', 'PARENT', 'CLOUD_PROVIDER_CREDENTIALS');
select watch_table('cluster_lock', 'PARENT');
select watch_table('invitation', 'MEMBERS_AND_ROLES', 'INVITATION');
select watch_table('membership', 'MEMBERS_AND_ROLES', 'MEMBER_ROLE');
select watch_table('custom_role', 'MEMBERS_AND_ROLES', 'CUSTOM_ROLE');
select watch_table('custom_role_cluster', 'MEMBERS_AND_ROLES', 'CUSTOM_ROLE');
select watch_table('custom_role_project', 'MEMBERS_AND_ROLES', 'CUSTOM_ROLE');

-- One table, two words.
create trigger keep_version before update or delete on variable for each row execute function keep_version();
create trigger record_variable after insert on variable for each row when (not new.is_secret)
  execute function record_change('PARENT', 'VARIABLE');
create trigger record_variable_change after update or delete on variable for each row when (not old.is_secret)
  execute function record_change('PARENT', 'VARIABLE');
create trigger record_secret after insert on variable for each row when (new.is_secret)
  execute function record_change('PARENT', 'SECRET');
create trigger record_secret_change after update or delete on variable for each row when (old.is_secret)
  execute function record_change('PARENT', 'SECRET');

create trigger record_request after insert on deployment for each row when (new.whole_environment)
  execute function record_deployment('REQUEST');
create trigger record_whole after update on deployment for each row when (new.whole_environment and not old.whole_environment)
  execute function record_deployment('REQUEST');
create trigger record_cancel after update on deployment for each row
  when (old.cancel_requested_at is null and new.cancel_requested_at is not null or old.status <> 'WITHDRAWN' and new.status = 'WITHDRAWN')
  execute function record_deployment('CANCEL');
create trigger record_end after update on deployment for each row
  when (new.whole_environment and old.status = 'RUNNING' and new.status in ('SUCCEEDED', 'FAILED'))
  execute function record_deployment('END');
create trigger record_request after insert or update of stage_name on deployment_service for each row
  execute function record_deployment('REQUEST');
create trigger record_end after update of phase on deployment_service for each row
  when (old.phase <> new.phase and new.phase in ('SUCCEEDED', 'FAILED', 'BUILD_FAILED'))
  execute function record_deployment('END');
