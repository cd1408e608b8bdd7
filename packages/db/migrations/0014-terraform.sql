-- The values of a Helm chart may come from a repository of their own, with a token of its own.
create index service_values_git_token on service ((spec #>> '{values_override,file,git,git_repository,git_token_id}')) where type = 'HELM';

-- States of Terraform configurations, sealed by the vault, and who works on them. Written by the engine, as service_runtime is, so
-- that there is no reference to the service either: the state goes when what it describes is destroyed or given up.
create table terraform_state (
  service_id uuid primary key,
  organization_id uuid not null,
  environment_id uuid not null,
  -- null: locked before the first one was stored.
  sealed bytea,
  lock jsonb,
  -- The deployment whose run has the lock. Another run of the same one, after a crash, may take it over.
  lock_deployment_id uuid,
  stored_at timestamptz not null default clock_timestamp()
);
create index terraform_state_environment on terraform_state (environment_id);
