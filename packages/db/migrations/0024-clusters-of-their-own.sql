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

-- Where something of a service may be: on the cluster that it runs on, and on those that it was moved away from until nothing of it is
-- left there. keeps: it has volumes there, which stay until the service is deleted.
create table service_place (
  service_id uuid not null,
  driver text not null,
  environment_id uuid not null,
  keeps boolean not null default false,
  primary key (service_id, driver)
);
create index service_place_driver on service_place (driver, environment_id);
insert into service_place (service_id, driver, environment_id, keeps)
select t.service_id, t.driver, t.environment_id, coalesce(jsonb_array_length(r.config -> 'volumes') > 0, false)
  from service_runtime t left join release r on r.id = t.release_id
 where r.config -> 'source' ->> 'type' is distinct from 'TERRAFORM';

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
