-- Secrets of projects and environments: their values go with these, as those of services do with the service.
alter table secret_value
  add column project_id uuid references project (id) on delete cascade,
  add column environment_id uuid references environment (id) on delete cascade;
create index secret_value_project on secret_value (project_id) where project_id is not null;
create index secret_value_environment on secret_value (environment_id) where environment_id is not null;
