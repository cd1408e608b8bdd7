-- Whether a request is the next one of its environment: it is queued, no request of the environment is queued before it, and none is
-- running. Runners claim by this column: the cost of a claim does not depend on the length of the queue, and no statistics of the table
-- can change the plan. Triggers keep the column, so that no statement and no process of an older version can forget it.
alter table deployment add column is_next boolean not null default false check (status = 'QUEUED' or not is_next);

update deployment d set is_next = true
 where d.status = 'QUEUED'
   and not exists (select from deployment r where r.environment_id = d.environment_id and r.status = 'RUNNING')
   and d.sequence = (select min(q.sequence) from deployment q where q.environment_id = d.environment_id and q.status = 'QUEUED');

-- The only index with this condition, so that there is one way to find the oldest of these requests.
create index deployment_next on deployment (sequence) where is_next;

-- Serializes changes to the queue of one environment until the end of the transaction. Whatever needs the row of a queued request as well
-- takes this lock first.
create function lock_queue(environment uuid) returns void language sql as $$
  select pg_advisory_xact_lock(hashtextextended('davit queue ' || environment::text, 0))
$$;

-- A session keeps the plans of its functions, also one that was made while the table was almost empty. Without sequential scans it is
-- right for a large table, too.
create function enter_queue() returns trigger language plpgsql set enable_seqscan = off as $$
begin
  perform lock_queue(new.environment_id);
  new.is_next := new.status = 'QUEUED' and not exists (
    select from deployment d where d.environment_id = new.environment_id and d.status in ('QUEUED', 'RUNNING'));
  return new;
end
$$;
create trigger enter_queue before insert on deployment for each row execute function enter_queue();

create function leave_queue() returns trigger language plpgsql as $$
begin
  new.is_next := false;
  return new;
end
$$;
create trigger leave_queue before update of status on deployment for each row when (old.is_next and new.status <> 'QUEUED')
  execute function leave_queue();

-- A request that is inserted at the same time sees either the end of the running one, or is seen here: both hold the lock.
create function advance_queue() returns trigger language plpgsql set enable_seqscan = off as $$
begin
  perform lock_queue(old.environment_id);
  update deployment d set is_next = true
   where d.id = (select q.id from deployment q where q.environment_id = old.environment_id and q.status = 'QUEUED'
                  order by q.sequence limit 1)
     and not d.is_next
     and not exists (select from deployment r where r.environment_id = old.environment_id and r.status = 'RUNNING');
  return null;
end
$$;
create trigger advance_queue after update of status on deployment for each row
  when (old.status in ('QUEUED', 'RUNNING') and new.status not in ('QUEUED', 'RUNNING')) execute function advance_queue();
create trigger advance_queue_of_deleted after delete on deployment for each row when (old.status in ('QUEUED', 'RUNNING'))
  execute function advance_queue();
