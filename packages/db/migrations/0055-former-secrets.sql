-- Paths of secrets that were deleted or renamed, as releases name them. Releases show no plain value that such a variable had before
-- it was a secret, also if no release was made while it was one.
create table former_secret (
  project_id uuid references project (id) on delete cascade,
  environment_id uuid references environment (id) on delete cascade,
  service_id uuid references service (id) on delete cascade,
  path text not null,
  check (num_nonnulls(project_id, environment_id, service_id) = 1)
);
create unique index former_secret_path on former_secret ((coalesce(service_id, environment_id, project_id)), path);
create index former_secret_project on former_secret (project_id) where project_id is not null;
create index former_secret_environment on former_secret (environment_id) where environment_id is not null;
create index former_secret_service on former_secret (service_id) where service_id is not null;

-- Does nothing if the variable is deleted together with what it belongs to.
create function keep_former_secret() returns trigger language plpgsql as $$
begin
  insert into former_secret (project_id, environment_id, service_id, path)
  select old.project_id, old.environment_id, old.service_id, named.path
    from (values ('variables.' || old.key), ('files.' || old.mount_path)) as named (path)
   where named.path is not null
     and (exists (select from project where id = old.project_id) or exists (select from environment where id = old.environment_id)
          or exists (select from service where id = old.service_id))
  on conflict do nothing;
  return null;
end
$$;
create trigger keep_former_secret_deleted after delete on variable for each row
  when (old.is_secret) execute function keep_former_secret();
create trigger keep_former_secret_changed after update on variable for each row
  when (old.is_secret and (old.key <> new.key or old.mount_path is distinct from new.mount_path or not new.is_secret))
  execute function keep_former_secret();
