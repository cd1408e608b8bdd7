import { statement } from '@davit/db';
import type { ReleaseCommit, ReleaseConfig } from '../model.ts';

/**
 * Parameters: deployment, fence, service, time of the next run, driver or null. If a cluster starts the runs, `driver`
 * names it and the time is infinity. Changes nothing if the fence no longer belongs to the deployment.
 */
export const setSchedule = statement(
  'setJobSchedule',
  `INSERT INTO job_schedule (service_id, next_at, driver)
   SELECT $3::uuid, $4::timestamptz, $5::text
    WHERE EXISTS (SELECT 1 FROM deployment f WHERE f.id = $1 AND f.fence = $2 AND f.status = 'RUNNING')
   ON CONFLICT (service_id) DO UPDATE SET next_at = excluded.next_at, driver = excluded.driver`,
);

/** Locks the schedule of a service, so that the scheduler cannot advance it meanwhile. Parameter: service. */
export const lockSchedule = statement('lockJobSchedule', 'SELECT 1 FROM job_schedule WHERE service_id = $1 FOR UPDATE');

/** Returns the time of the database's clock, which decides which schedules are due and when a run began. */
export const jobClock = statement<{ now: string }>('jobClock', 'SELECT clock_timestamp() AS now');

/** Returns the seconds since a time of the database's clock. Parameter: time. */
export const secondsSince = statement<{ seconds: number }>(
  'jobSecondsSince',
  `SELECT greatest(0, extract(epoch FROM clock_timestamp() - $1::timestamptz))::float8 AS seconds`,
);

const removal = (table: string): string =>
  `DELETE FROM ${table} WHERE service_id = $3::uuid
     AND EXISTS (SELECT 1 FROM deployment f WHERE f.id = $1 AND f.fence = $2 AND f.status = 'RUNNING')`;

/** Parameters: deployment, fence, service. */
export const removeSchedule = statement('removeJobSchedule', removal('job_schedule'));
export const removeRuns = statement('removeJobRuns', removal('job_run'));

interface Placed {
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

export interface DueRow extends Placed {
  readonly next_at: string;
  /** Time of the database's clock, which decides which schedules are due. */
  readonly now: string;
}

/** Returns due schedules, the oldest first. Parameter: releases whose schedules are skipped for now. */
export const dueSchedules = statement<DueRow>(
  'dueJobSchedules',
  `SELECT ${placedColumns}, t.driver, s.next_at, clock_timestamp() AS now
     FROM job_schedule s JOIN service_runtime t ON t.service_id = s.service_id JOIN release r ON r.id = t.release_id
    WHERE s.next_at <= clock_timestamp() AND t.desired = 'RUNNING' AND r.id <> ALL($1::uuid[]) ORDER BY s.next_at LIMIT 100`,
);

/**
 * Parameters: service, time of the next run. Returns no row if another process has advanced the schedule or the
 * schedule was removed.
 */
export const advanceSchedule = statement<{ service_id: string }>(
  'advanceJobSchedule',
  `UPDATE job_schedule SET next_at = $2 WHERE service_id = $1 AND next_at <= clock_timestamp() RETURNING service_id`,
);

/** Deletes a due schedule that has no further time. Parameter: service. */
export const endSchedule = statement<{ service_id: string }>(
  'endJobSchedule',
  `DELETE FROM job_schedule WHERE service_id = $1 AND next_at <= clock_timestamp() RETURNING service_id`,
);

/**
 * Parameters: id, service, release, time at which the run was due. Returns no row if a run of the service has not
 * ended.
 */
export const insertRun = statement<{ id: string }>(
  'insertJobRun',
  `INSERT INTO job_run (id, service_id, release_id, due_at, driver)
   VALUES ($1, $2, $3, $4, (SELECT driver FROM service_runtime WHERE service_id = $2))
   ON CONFLICT (service_id) WHERE status = 'RUNNING' DO NOTHING RETURNING id`,
);

export interface RunRow extends Placed {
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
  'openJobRuns',
  `SELECT ${placedColumns}, coalesce(j.driver, t.driver) AS driver, j.id, j.due_at, j.launched_at, j.created_at, j.by_cluster
     FROM job_run j JOIN service_runtime t ON t.service_id = j.service_id JOIN release r ON r.id = j.release_id
    WHERE j.status = 'RUNNING' AND j.id <> ALL($1::uuid[]) ORDER BY j.created_at`,
);

/** Returns whether a run that Davit started is running. Parameter: service. */
export const hasOwnRun = statement<{ has: boolean }>(
  'hasOwnJobRun',
  `SELECT EXISTS (SELECT FROM job_run WHERE service_id = $1 AND status = 'RUNNING' AND NOT by_cluster) AS has`,
);

export const runningRollouts = statement<{ id: string }>('runningJobRollouts', `SELECT id FROM job_run WHERE status = 'RUNNING'`);

/** Returns the rollouts of runs that a schedule or a deployment still awaits. Parameter: services. */
export const openRollouts = statement<{ id: string }>(
  'openJobRollouts',
  `SELECT id FROM job_run WHERE service_id = ANY($1::uuid[]) AND status = 'RUNNING'
   UNION ALL
   SELECT s.rollout FROM deployment_service s JOIN deployment d ON d.id = s.deployment_id
    WHERE s.service_id = ANY($1::uuid[]) AND d.status IN ('QUEUED', 'RUNNING')`,
);

export const markLaunched = statement<{ launched_at: string }>(
  'markJobLaunched',
  `UPDATE job_run SET launched_at = coalesce(launched_at, clock_timestamp()) WHERE id = $1 RETURNING launched_at`,
);

/**
 * Ends a run. Parameters: id, status, failure. If the job is no longer meant to run, a failed run counts as CANCELED,
 * because it was stopped.
 */
export const endRun = statement<{ status: 'SUCCEEDED' | 'FAILED' | 'CANCELED' }>(
  'endJobRun',
  `UPDATE job_run j
      SET status = CASE WHEN $2 = 'FAILED' AND NOT EXISTS (
                          SELECT 1 FROM service_runtime t WHERE t.service_id = j.service_id AND t.desired = 'RUNNING')
                        THEN 'CANCELED' ELSE $2 END,
          failure = $3::jsonb, finished_at = clock_timestamp()
    WHERE j.id = $1 AND j.status = 'RUNNING' RETURNING j.status`,
);

/**
 * Deletes old runs. Parameters: service, number of runs to keep. A failed run that a cluster started is kept for two
 * days: the cluster may still list the run, and an unknown run would be recorded again.
 */
export const trimRuns = statement(
  'trimJobRuns',
  `DELETE FROM job_run WHERE service_id = $1 AND status <> 'RUNNING'
      AND NOT (by_cluster AND status = 'FAILED' AND finished_at > clock_timestamp() - interval '2 days')
      AND id NOT IN (SELECT id FROM job_run WHERE service_id = $1 ORDER BY created_at DESC LIMIT $2)`,
);

/**
 * Parameters: service, status. The status of a job that was stopped meanwhile does not change; no row is updated then.
 */
export const setJobStatus = statement(
  'setJobStatus',
  `UPDATE service_runtime SET running_status = $2 WHERE service_id = $1 AND desired = 'RUNNING'`,
);

/** A schedule whose runs are started by a cluster. */
export interface ClusterScheduleRow extends Placed {
  /** Rollout with which the schedule was put on the cluster. */
  readonly rollout: string;
  /** Whether a run that Davit itself started is running. The schedule stays suspended until that run ends. */
  readonly waits: boolean;
}

/** Returns the schedules that a cluster should have. Parameter: driver. */
export const clusterSchedules = statement<ClusterScheduleRow>(
  'clusterJobSchedules',
  `SELECT ${placedColumns}, t.driver, t.rollout,
          EXISTS (SELECT FROM job_run j WHERE j.service_id = t.service_id AND j.status = 'RUNNING' AND NOT j.by_cluster) AS waits
     FROM job_schedule s JOIN service_runtime t ON t.service_id = s.service_id JOIN release r ON r.id = t.release_id
    WHERE s.driver = $1 AND s.next_at = 'infinity' AND t.driver = $1 AND t.desired = 'RUNNING'`,
);

/** Returns which of these runs are recorded, with the code of their failure. Parameter: ids of runs. */
export const knownRuns = statement<{ id: string; status: string; code: string | null }>(
  'knownJobRuns',
  `SELECT id, status, failure ->> 'code' AS code FROM job_run WHERE id = ANY($1::uuid[])`,
);

/**
 * Records a run that a cluster started. Parameters: id, service, release, due time, driver, start time. Returns no row
 * if another run of the job has not ended, if this run is already recorded, or if the job does not run on that cluster.
 */
export const insertClusterRun = statement<{ id: string }>(
  'insertClusterJobRun',
  `INSERT INTO job_run (id, service_id, release_id, due_at, driver, launched_at, by_cluster)
   SELECT $1::uuid, $2::uuid, $3::uuid, $4::timestamptz, $5::text, $6::timestamptz, true
    WHERE EXISTS (SELECT FROM service_runtime t WHERE t.service_id = $2::uuid AND t.driver = $5::text AND t.desired = 'RUNNING')
      AND EXISTS (SELECT FROM release r WHERE r.id = $3::uuid AND r.service_id = $2::uuid)
   ON CONFLICT DO NOTHING RETURNING id`,
);
