-- Runs of Terraform on clusters, which reach their state at the API: each with a token of its own, of which the hash is here. It is good
-- while the deployment runs, and no longer than the run. Made by the engine.
create table terraform_run (
  id uuid primary key,
  deployment_id uuid not null,
  service_id uuid not null,
  organization_id uuid not null,
  environment_id uuid not null,
  token_hash bytea not null,
  created_at timestamptz not null default clock_timestamp()
);
create index terraform_run_service on terraform_run (service_id);
create index terraform_run_deployment on terraform_run (deployment_id);
