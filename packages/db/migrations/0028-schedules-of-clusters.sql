-- The cluster that starts the runs of a schedule by itself, as the name of its connection; null: Davit does. Of such a schedule next_at is
-- infinity: it is never due for Davit.
alter table job_schedule add column driver text;

-- Runs that a cluster began by itself. Their ids are the cluster's, and their attempts too.
alter table job_run add column by_cluster boolean not null default false;
