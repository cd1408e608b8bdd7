-- What the latest apply of a Terraform configuration left in the world, sealed by the vault as its state is: values that nobody called
-- sensitive may be so all the same. Written by the engine, and gone with the state.
create table terraform_resources (
  service_id uuid primary key,
  organization_id uuid not null,
  environment_id uuid not null,
  sealed bytea not null,
  extracted_at timestamptz not null default clock_timestamp()
);
create index terraform_resources_environment on terraform_resources (environment_id);
