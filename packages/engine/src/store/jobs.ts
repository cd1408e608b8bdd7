import { statement } from '@davit/db';
import type { ReleaseCommit, ReleaseConfig } from '../model.ts';

/**
 * Parameters: deployment, fence, service, time of the next run, driver or null. If a cluster starts the runs, `driver`
 * names it and the time is infinity. Changes nothing if the fence no longer belongs to the deployment.
 */
export const setSchedule = statement(
  'set_job_schedule',
  `insert into job_schedule (service_id, next_at, driver)
   select $3::uuid, $4::timestamptz, $5::text
    where exists (select 1 from deployment f where f.id = $1 and f.fence = $2 and f.status = 'RUNNING')
   on conflict (service_id) do update set next_at = excluded.next_at, driver = excluded.driver`,
);

/** Locks the schedule of a service, so that the scheduler cannot advance it meanwhile. Parameter: service. */
export const lockSchedule = statement('lock_job_schedule', 'select 1 from job_schedule where service_id = $1 for update');

/** Returns the time of the database's clock, which decides which schedules are due and when a run began. */
export const jobClock = statement<{ now: string }>('job_clock', 'select clock_timestamp() as now');

/** Returns the seconds since a time of the database's clock. Parameter: time. */
export const secondsSince = statement<{ seconds: number }>(
  'job_seconds_since',
  `select greatest(0, extract(epoch from clock_timestamp() - $1::timestamptz))::float8 as seconds`,
);

const removal = (table: string): string =>
  `delete from ${table} where service_id = $3::uuid
     and exists (select 1 from deployment f where f.id = $1 and f.fence = $2 and f.status = 'RUNNING')`;

/** Parameters: deployment, fence, service. */
export const removeSchedule = statement('remove_job_schedule', removal('job_schedule'));
export const removeRuns = statement('remove_job_runs', removal('job_run'));

interface JobRunTarget {
  readonly service_id: string;
  readonly organization_id: string;
  readonly project_id: string;
  readonly environment_id: string;
  readonly driver: string;
  readonly release_id: string;
  readonly config: ReleaseConfig;
  readonly image_id: string | null;
  readonly image_name: string | null;
  readonly commit: ReleaseCommit | null;
}

const placedColumns = `t.service_id, t.organization_id, t.project_id, t.environment_id, r.id AS release_id, r.config, r.image_id, r.image_name,
  r.commit`;

export interface DueRow extends JobRunTarget {
  readonly next_at: string;
  /** Time of the database's clock, which decides which schedules are due. */
  readonly now: string;
}

/** Returns due schedules, the oldest first. Parameter: releases whose schedules are skipped for now. */
export const dueSchedules = statement<DueRow>(
  'due_job_schedules',
  `select ${placedColumns}, t.driver, s.next_at, clock_timestamp() as now
     from job_schedule s join service_runtime t on t.service_id = s.service_id join release r on r.id = t.release_id
    where s.next_at <= clock_timestamp() and t.desired = 'RUNNING' and r.id <> all($1::uuid[]) order by s.next_at limit 100`,
);

/**
 * Parameters: service, time of the next run. Returns no row if another process has advanced the schedule or the
 * schedule was removed.
 */
export const advanceSchedule = statement<{ service_id: string }>(
  'advance_job_schedule',
  `update job_schedule set next_at = $2 where service_id = $1 and next_at <= clock_timestamp() returning service_id`,
);

/** Deletes a due schedule that has no further time. Parameter: service. */
export const endSchedule = statement<{ service_id: string }>(
  'end_job_schedule',
  `delete from job_schedule where service_id = $1 and next_at <= clock_timestamp() returning service_id`,
);

/**
 * Parameters: id, service, release, time at which the run was due. Returns no row if a run of the service has not
 * ended.
 */
export const insertRun = statement<{ id: string }>(
  'insert_job_run',
  `insert into job_run (id, service_id, release_id, due_at, driver)
   values ($1, $2, $3, $4, (select driver from service_runtime where service_id = $2))
   on conflict (service_id) where status = 'RUNNING' do nothing returning id`,
);

export interface RunRow extends JobRunTarget {
  readonly id: string;
  readonly due_at: string;
  /** Time at which the run started, by the clock of whatever started it: the database's or the cluster's. */
  readonly launched_at: string | null;
  readonly created_at: string;
  /** Whether the cluster started the run and restarts its failed attempts itself. */
  readonly by_cluster: boolean;
}

/**
 * Returns runs that have not ended, of jobs that are still deployed. Parameter: ids of runs that this process already
 * awaits.
 */
export const openRuns = statement<RunRow>(
  'open_job_runs',
  `select ${placedColumns}, coalesce(j.driver, t.driver) as driver, j.id, j.due_at, j.launched_at, j.created_at, j.by_cluster
     from job_run j join service_runtime t on t.service_id = j.service_id join release r on r.id = j.release_id
    where j.status = 'RUNNING' and j.id <> all($1::uuid[]) order by j.created_at`,
);

/** Returns whether a run that Davit started is running. Parameter: service. */
export const hasOwnRun = statement<{ has: boolean }>(
  'has_own_job_run',
  `select exists (select from job_run where service_id = $1 and status = 'RUNNING' and not by_cluster) as has`,
);

export const runningRollouts = statement<{ id: string }>(
  'running_job_rollouts',
  `select id from job_run where status = 'RUNNING'`,
);

/** Returns the rollouts of runs that a schedule or a deployment still awaits. Parameter: services. */
export const openRollouts = statement<{ id: string }>(
  'open_job_rollouts',
  `select id from job_run where service_id = any($1::uuid[]) and status = 'RUNNING'
   union all
   select s.rollout from deployment_service s join deployment d on d.id = s.deployment_id
    where s.service_id = any($1::uuid[]) and d.status in ('QUEUED', 'RUNNING')`,
);

export const markLaunched = statement<{ launched_at: string }>(
  'mark_job_launched',
  `update job_run set launched_at = coalesce(launched_at, clock_timestamp()) where id = $1 returning launched_at`,
);

/**
 * Ends a run. Parameters: id, status, failure. If the job is no longer meant to run, a failed run counts as CANCELED,
 * because it was stopped.
 */
export const endRun = statement<{ status: 'SUCCEEDED' | 'FAILED' | 'CANCELED' }>(
  'end_job_run',
  `update job_run j
      set status = case when $2 = 'FAILED' and not exists (
                          select 1 from service_runtime t where t.service_id = j.service_id and t.desired = 'RUNNING')
                        then 'CANCELED' else $2 end,
          failure = $3::jsonb, finished_at = clock_timestamp()
    where j.id = $1 and j.status = 'RUNNING' returning j.status`,
);

/**
 * Deletes old runs. Parameters: service, number of runs to keep. A failed run that a cluster started is kept for two
 * days: the cluster may still list the run, and an unknown run would be recorded again.
 */
export const trimRuns = statement(
  'trim_job_runs',
  `delete from job_run where service_id = $1 and status <> 'RUNNING'
      and not (by_cluster and status = 'FAILED' and finished_at > clock_timestamp() - interval '2 days')
      and id not in (select id from job_run where service_id = $1 order by created_at desc limit $2)`,
);

/**
 * Parameters: service, status. The status of a job that was stopped meanwhile does not change; no row is updated then.
 */
export const setJobStatus = statement(
  'set_job_status',
  `update service_runtime set running_status = $2 where service_id = $1 and desired = 'RUNNING'`,
);

/** A schedule whose runs are started by a cluster. */
export interface ClusterScheduleRow extends JobRunTarget {
  /** Rollout with which the schedule was put on the cluster. */
  readonly rollout: string;
  /** Whether a run that Davit itself started is running. The schedule stays suspended until that run ends. */
  readonly waits: boolean;
}

/** Returns the schedules that a cluster should have. Parameter: driver. */
export const clusterSchedules = statement<ClusterScheduleRow>(
  'cluster_job_schedules',
  `select ${placedColumns}, t.driver, t.rollout,
          exists (select from job_run j where j.service_id = t.service_id and j.status = 'RUNNING' and not j.by_cluster) as waits
     from job_schedule s join service_runtime t on t.service_id = s.service_id join release r on r.id = t.release_id
    where s.driver = $1 and s.next_at = 'infinity' and t.driver = $1 and t.desired = 'RUNNING'`,
);

/** Returns which of these runs are recorded, with the code of their failure. Parameter: ids of runs. */
export const knownRuns = statement<{ id: string; status: string; code: string | null }>(
  'known_job_runs',
  `select id, status, failure ->> 'code' as code from job_run where id = any($1::uuid[])`,
);

/**
 * Records a run that a cluster started. Parameters: id, service, release, due time, driver, start time. Returns no row
 * if another run of the job has not ended, if this run is already recorded, or if the job does not run on that cluster.
 */
export const insertClusterRun = statement<{ id: string }>(
  'insert_cluster_job_run',
  `insert into job_run (id, service_id, release_id, due_at, driver, launched_at, by_cluster)
   select $1::uuid, $2::uuid, $3::uuid, $4::timestamptz, $5::text, $6::timestamptz, true
    where exists (select from service_runtime t where t.service_id = $2::uuid and t.driver = $5::text and t.desired = 'RUNNING')
      and exists (select from release r where r.id = $3::uuid and r.service_id = $2::uuid)
   on conflict do nothing returning id`,
);
