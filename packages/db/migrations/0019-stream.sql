-- What happened, for live streams: written by triggers in the transaction of what it tells, so that no statement can forget it and
-- nothing is told that did not happen. See docs/stream.md and adr/0013.
--
-- xid: the transaction that wrote it. Sequences are handed out before a commit, so that a reader of `sequence > last` misses
-- what commits late; readers ask by snapshots instead: what is visible now and was not at the last look.
-- mode: of the environment then, for custom roles, should the environment be gone. fact: what happened, as the engine's tables have
-- it; lines of logs by their numbers.
create table stream_event (
  sequence bigint generated always as identity primary key,
  xid bigint not null default (pg_current_xact_id()::text::bigint),
  organization_id uuid not null,
  project_id uuid not null,
  environment_id uuid not null,
  mode text,
  service_id uuid,
  deployment_id uuid,
  kind text not null,
  fact jsonb not null,
  at timestamptz not null default clock_timestamp()
);
create index stream_event_xid on stream_event (xid);

-- Snapshots taken from time to time: what is visible in one of them is older than it. The one that is the horizon: events that are
-- visible in it were removed.
create table stream_checkpoint (
  id bigint generated always as identity primary key,
  snapshot text not null,
  last_sequence bigint not null,
  is_horizon boolean not null default false,
  taken_at timestamptz not null default clock_timestamp()
);

-- Wakes the readers; they read the rows themselves. The same notification is sent once for each transaction.
create function notify_stream() returns trigger language plpgsql as $$
begin
  perform pg_notify('davit_stream', '');
  return null;
end
$$;
create trigger notify_stream after insert on stream_event for each statement execute function notify_stream();

-- Arguments: kind, service, deployment row, fact.
create function tell_of(event_kind text, told_service uuid, told deployment, told_fact jsonb) returns void language sql as $$
  insert into stream_event (organization_id, project_id, environment_id, mode, service_id, deployment_id, kind, fact)
  values (told.organization_id, told.project_id, told.environment_id,
          (select e.mode from environment e where e.id = told.environment_id), told_service, told.id, event_kind, told_fact)
$$;

create function tell_deployment() returns trigger language plpgsql as $$
declare
  known constant jsonb := jsonb_build_object('execution_number', new.execution_number, 'action', new.action, 'status', new.status,
    'canceling', new.cancel_requested_at is not null, 'triggered_by', new.triggered_by, 'origin', new.origin,
    'build_failed', new.status = 'FAILED' and exists (
      select 1 from deployment_service s where s.deployment_id = new.id and s.phase = 'BUILD_FAILED'));
begin
  if tg_op = 'INSERT' or new.status = 'WITHDRAWN' then
    perform tell_of('QUEUE', null, new, known || jsonb_build_object('change', new.status));
    return null;
  end if;
  if old.status = 'QUEUED' then
    perform tell_of('QUEUE', null, new, known || jsonb_build_object('change', 'STARTED'));
  end if;
  perform tell_of('DEPLOYMENT', null, new, known);
  return null;
end
$$;
create trigger tell_request after insert on deployment for each row execute function tell_deployment();
create trigger tell_deployment after update of status, cancel_requested_at on deployment for each row
  when (old.status <> new.status or old.cancel_requested_at is null and new.cancel_requested_at is not null)
  execute function tell_deployment();

create function tell_service() returns trigger language plpgsql as $$
declare
  told deployment;
begin
  select * into told from deployment d where d.id = new.deployment_id;
  if found then
    perform tell_of('SERVICE_STATE', new.service_id, told, jsonb_build_object('execution_number', told.execution_number,
      'action', told.action, 'phase', new.phase, 'service_type', new.service_type, 'service_name', new.service_name,
      'failure', case when new.failure is not null then jsonb_build_object('code', new.failure -> 'code', 'message', new.failure -> 'message') end));
  end if;
  return null;
end
$$;
create trigger tell_service after insert on deployment_service for each row execute function tell_service();
create trigger tell_phase after update of phase on deployment_service for each row when (old.phase <> new.phase)
  execute function tell_service();

create function tell_step() returns trigger language plpgsql as $$
declare
  told deployment;
begin
  select * into told from deployment d where d.id = new.deployment_id;
  if found then
    perform tell_of('STEP', new.service_id, told, jsonb_build_object('execution_number', told.execution_number, 'step', new.name,
      'metric', new.metric, 'status', new.status, 'attempt', new.attempt, 'started_at', new.started_at, 'finished_at', new.finished_at));
  end if;
  return null;
end
$$;
create trigger tell_step after update of status, attempt on deployment_step for each row
  when (old.status <> new.status or old.attempt <> new.attempt)
  execute function tell_step();

create function tell_running() returns trigger language plpgsql as $$
declare
  former constant text := case when tg_op = 'UPDATE' then old.running_status end;
  present constant text := case when tg_op = 'DELETE' then null else new.running_status end;
  about constant service_runtime := case when tg_op = 'DELETE' then old else new end;
begin
  if tg_op = 'DELETE' or former is distinct from present then
    insert into stream_event (organization_id, project_id, environment_id, mode, service_id, kind, fact)
    values (about.organization_id, about.project_id, about.environment_id,
            (select e.mode from environment e where e.id = about.environment_id), about.service_id, 'RUNNING_STATUS',
            jsonb_build_object('running_status', present));
  end if;
  return null;
end
$$;
create trigger tell_running after insert or delete on service_runtime for each row execute function tell_running();
create trigger tell_running_change after update of running_status on service_runtime for each row
  when (old.running_status is distinct from new.running_status) execute function tell_running();

create function tell_deployment_log() returns trigger language plpgsql as $$
begin
  insert into stream_event (organization_id, project_id, environment_id, mode, deployment_id, kind, fact)
  select d.organization_id, d.project_id, d.environment_id, e.mode, d.id, 'DEPLOYMENT_LOG',
         jsonb_build_object('execution_number', d.execution_number, 'lines', added.ids)
    from (select deployment_id, jsonb_agg(id order by id) as ids from line group by deployment_id) added
    join deployment d on d.id = added.deployment_id
    left join environment e on e.id = d.environment_id;
  return null;
end
$$;
create trigger tell_log after insert on deployment_log referencing new table as line for each statement
  execute function tell_deployment_log();

create function tell_service_log() returns trigger language plpgsql as $$
begin
  insert into stream_event (organization_id, project_id, environment_id, mode, service_id, kind, fact)
  select s.organization_id, s.project_id, s.environment_id, e.mode, s.id, 'SERVICE_LOG', jsonb_build_object('lines', added.ids)
    from (select service_id, jsonb_agg(id order by id) as ids from line group by service_id) added
    join service s on s.id = added.service_id
    join environment e on e.id = s.environment_id;
  return null;
end
$$;
create trigger tell_log after insert on service_log referencing new table as line for each statement
  execute function tell_service_log();
