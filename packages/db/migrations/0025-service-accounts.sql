-- Whether Davit works on a cluster with the service account of its own pods: what the operator's settings say, written at each start.
-- No request can change it. Whoever works with clusters looks again.
alter table cluster add column uses_service_account boolean not null default false;
create trigger notify_clusters_of_account after update on cluster for each row
  when (old.uses_service_account is distinct from new.uses_service_account)
  execute function notify_clusters();
