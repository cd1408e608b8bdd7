-- An entry of an index has at most some 2,700 bytes, and a path may be longer: its secret could not be deleted or renamed.
drop index former_secret_path;
create index former_secret_owner on former_secret ((coalesce(service_id, environment_id, project_id)));

-- Does nothing if the variable is deleted together with what it belongs to. Transactions at the same time may write a path twice.
create or replace function keep_former_secret() returns trigger language plpgsql as $$
begin
  insert into former_secret (project_id, environment_id, service_id, path)
  select old.project_id, old.environment_id, old.service_id, named.path
    from (values ('variables.' || old.key), ('files.' || old.mount_path)) as named (path)
   where named.path is not null
     and (exists (select from project where id = old.project_id) or exists (select from environment where id = old.environment_id)
          or exists (select from service where id = old.service_id))
     and not exists (select from former_secret f
                      where coalesce(f.service_id, f.environment_id, f.project_id)
                            = coalesce(old.service_id, old.environment_id, old.project_id)
                        and f.path = named.path);
  return null;
end
$$;
