-- What is observed to be wrong with a service after it is deployed: one row for each kind of fault, as long as the fault lasts.
-- severity: what `running_status` becomes at least. failure: code, message, hint and evidence as in deployment_service, redacted.
-- occurrences: how often it was observed since `since`; seen_at: when last. clear_after_seconds: the keeper removes the row when the service is
-- well and nothing was observed for so long; null: whoever wrote the row removes it.
create table service_condition (
  service_id uuid not null references service_runtime (service_id) on delete cascade,
  kind text not null,
  severity text not null check (severity in ('WARNING', 'ERROR')),
  failure jsonb not null,
  instance_name text,
  occurrences bigint not null default 1,
  clear_after_seconds integer,
  since timestamptz not null,
  seen_at timestamptz not null,
  primary key (service_id, kind)
);

-- Ends of instances that nobody asked for, so that each is noted once, whoever sees it. restarts: how often the cluster itself had started the
-- instance again by then; ends: how many this row stands for, as a cluster that restarts quickly shows the last one only.
create table service_instance_end (
  instance_id text not null,
  ended_at timestamptz not null,
  service_id uuid not null references service_runtime (service_id) on delete cascade,
  cause text not null,
  exit_code integer,
  restarts integer,
  ends integer not null,
  primary key (instance_id, ended_at)
);
create index service_instance_end_service on service_instance_end (service_id, ended_at);

-- Counters of metrics: they only grow.
create table service_end_total (
  service_id uuid not null references service_runtime (service_id) on delete cascade,
  cause text not null,
  ends bigint not null,
  primary key (service_id, cause)
);

-- What was wrong with instances that are replaced or stopped says nothing of those that come after them.
create function forget_conditions() returns trigger language plpgsql as $$
begin
  delete from service_condition where service_id = new.service_id;
  return null;
end
$$;
create trigger forget_conditions after update of rollout, desired, driver on service_runtime for each row
  when (old.rollout is distinct from new.rollout or old.desired <> new.desired or old.driver <> new.driver)
  execute function forget_conditions();

create function tell_condition() returns trigger language plpgsql as $$
declare
  about constant service_condition := case when tg_op = 'DELETE' then old else new end;
begin
  insert into stream_event (organization_id, project_id, environment_id, mode, service_id, kind, fact)
  select t.organization_id, t.project_id, t.environment_id, (select e.mode from environment e where e.id = t.environment_id), t.service_id,
         'CONDITION', jsonb_build_object('kind', about.kind, 'severity', case when tg_op <> 'DELETE' then about.severity end,
           'code', about.failure -> 'code', 'message', about.failure -> 'message', 'hint', about.failure -> 'hint',
           'instance', about.instance_name, 'occurrences', about.occurrences, 'since', about.since)
    from service_runtime t where t.service_id = about.service_id;
  return null;
end
$$;
create trigger tell_condition after insert or delete on service_condition for each row execute function tell_condition();
create trigger tell_condition_change after update on service_condition for each row
  when (old.severity <> new.severity or old.occurrences <> new.occurrences or old.failure ->> 'code' <> new.failure ->> 'code')
  execute function tell_condition();
