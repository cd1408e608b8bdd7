-- The driver of a cluster names what it is worked with: docker is this machine's container engine, which all clusters Local are; of
-- any other cluster it is its own id, so that what is on one is never taken for what is on another.
update cluster set driver = id::text where driver = 'kubernetes';
update service s set driver = c.driver from environment e join cluster c on c.id = e.cluster_id
 where e.id = s.environment_id and s.driver <> c.driver;

-- When it was deployed the last time: for what Davit does not install, when somebody had it checked.
alter table cluster add column deployed_at timestamptz;

-- Since when a deployment waits for its cluster, which does not answer.
alter table deployment add column waiting_since timestamptz;

-- Where a run of a job was started: the job may be on another cluster by its end.
alter table job_run add column driver text;

-- Whoever works with clusters looks again where one comes or goes, or is reached in another way.
create function notify_clusters() returns trigger language plpgsql as $$
begin
  perform pg_notify('davit_clusters', '');
  return null;
end
$$;
create trigger notify_clusters after insert or delete on cluster for each row execute function notify_clusters();
create trigger notify_clusters_of_access after update on cluster for each row
  when (old.kubeconfig_sealed is distinct from new.kubeconfig_sealed or old.name is distinct from new.name)
  execute function notify_clusters();
