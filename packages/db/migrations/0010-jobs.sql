-- The one event of a job that a deployment was asked to run; null: what its action runs.
alter table deployment_service add column event text check (event in ('START', 'STOP', 'DELETE', 'CRON'));
