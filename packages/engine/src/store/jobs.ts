import { statement } from '@davit/db';
import type { ReleaseCommit, ReleaseConfig } from '../model.ts';

/**
 * Deployment, fence, service, time, the cluster that starts its runs (then the time is infinity) or null. Only while the fence is the
 * deployment's.
 */
export const setSchedule = statement(
  'setJobSchedule',
  `INSERT INTO job_schedule (service_id, next_at, driver)
   SELECT $3::uuid, $4::timestamptz, $5::text
    WHERE EXISTS (SELECT 1 FROM deployment f WHERE f.id = $1 AND f.fence = $2 AND f.status = 'RUNNING')
   ON CONFLICT (service_id) DO UPDATE SET next_at = excluded.next_at, driver = excluded.driver`,
);

/** Service: its schedule, which the scheduler cannot move on meanwhile. */
export const lockSchedule = statement('lockJobSchedule', 'SELECT 1 FROM job_schedule WHERE service_id = $1 FOR UPDATE');

/** The clock that decides what is due, and since when a run runs. */
export const jobClock = statement<{ now: string }>('jobClock', 'SELECT clock_timestamp() AS now');

/** A time of that clock: how long ago it was. */
export const secondsSince = statement<{ seconds: number }>(
  'jobSecondsSince',
  `SELECT greatest(0, extract(epoch FROM clock_timestamp() - $1::timestamptz))::float8 AS seconds`,
);

const removal = (table: string): string =>
  `DELETE FROM ${table} WHERE service_id = $3::uuid
     AND EXISTS (SELECT 1 FROM deployment f WHERE f.id = $1 AND f.fence = $2 AND f.status = 'RUNNING')`;

/** Deployment, fence, service. */
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
  /** The database's clock, which decides what is due. */
  readonly now: string;
}

/** Releases whose schedules are left alone for now: others that are due, the oldest first. */
export const dueSchedules = statement<DueRow>(
  'dueJobSchedules',
  `SELECT ${placedColumns}, t.driver, s.next_at, clock_timestamp() AS now
     FROM job_schedule s JOIN service_runtime t ON t.service_id = s.service_id JOIN release r ON r.id = t.release_id
    WHERE s.next_at <= clock_timestamp() AND t.desired = 'RUNNING' AND r.id <> ALL($1::uuid[]) ORDER BY s.next_at LIMIT 100`,
);

/** Service, its next time. No row: another one has done it, or it was disarmed. */
export const advanceSchedule = statement<{ service_id: string }>(
  'advanceJobSchedule',
  `UPDATE job_schedule SET next_at = $2 WHERE service_id = $1 AND next_at <= clock_timestamp() RETURNING service_id`,
);

/** Service: nothing comes after the time that it was due. */
export const endSchedule = statement<{ service_id: string }>(
  'endJobSchedule',
  `DELETE FROM job_schedule WHERE service_id = $1 AND next_at <= clock_timestamp() RETURNING service_id`,
);

/** Id, service, release, the time that it was due. No row: one runs still. */
export const insertRun = statement<{ id: string }>(
  'insertJobRun',
  `INSERT INTO job_run (id, service_id, release_id, due_at, driver)
   VALUES ($1, $2, $3, $4, (SELECT driver FROM service_runtime WHERE service_id = $2))
   ON CONFLICT (service_id) WHERE status = 'RUNNING' DO NOTHING RETURNING id`,
);

export interface RunRow extends Placed {
  readonly id: string;
  readonly due_at: string;
  /** By the clock of who began it: the database's, or the cluster's. */
  readonly launched_at: string | null;
  readonly created_at: string;
  /** The cluster started it, and tries it again by itself. */
  readonly by_cluster: boolean;
}

/** Ids of runs that somebody waits for already: the others that have not ended, of jobs that are still deployed. */
export const openRuns = statement<RunRow>(
  'openJobRuns',
  `SELECT ${placedColumns}, coalesce(j.driver, t.driver) AS driver, j.id, j.due_at, j.launched_at, j.created_at, j.by_cluster
     FROM job_run j JOIN service_runtime t ON t.service_id = j.service_id JOIN release r ON r.id = j.release_id
    WHERE j.status = 'RUNNING' AND j.id <> ALL($1::uuid[]) ORDER BY j.created_at`,
);

/** Service: whether a run that Davit began is under way. */
export const hasOwnRun = statement<{ has: boolean }>(
  'hasOwnJobRun',
  `SELECT EXISTS (SELECT FROM job_run WHERE service_id = $1 AND status = 'RUNNING' AND NOT by_cluster) AS has`,
);

export const runningRollouts = statement<{ id: string }>('runningJobRollouts', `SELECT id FROM job_run WHERE status = 'RUNNING'`);

/** Services: the rollouts of their runs that somebody waits for, by a schedule or by a deployment. */
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

/** Id, status, failure. A job that is no longer to run has not failed: its run was ended. Then its status is CANCELED. */
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
 * Service, number of runs that are remembered. What a cluster began and failed is remembered for two days: it may be there still, and what is not known
 * would be noted again.
 */
export const trimRuns = statement(
  'trimJobRuns',
  `DELETE FROM job_run WHERE service_id = $1 AND status <> 'RUNNING'
      AND NOT (by_cluster AND status = 'FAILED' AND finished_at > clock_timestamp() - interval '2 days')
      AND id NOT IN (SELECT id FROM job_run WHERE service_id = $1 ORDER BY created_at DESC LIMIT $2)`,
);

/** Service, word. Of a job that was stopped meanwhile it stays: then no row is changed. */
export const setJobStatus = statement(
  'setJobStatus',
  `UPDATE service_runtime SET running_status = $2 WHERE service_id = $1 AND desired = 'RUNNING'`,
);

/** Of a schedule whose runs a cluster starts. */
export interface ClusterScheduleRow extends Placed {
  /** With which it was put on the cluster. */
  readonly rollout: string;
  /** A run that Davit began itself is under way: until its end the schedule stays suspended. */
  readonly waits: boolean;
}

/** Driver: the schedules that it should have. */
export const clusterSchedules = statement<ClusterScheduleRow>(
  'clusterJobSchedules',
  `SELECT ${placedColumns}, t.driver, t.rollout,
          EXISTS (SELECT FROM job_run j WHERE j.service_id = t.service_id AND j.status = 'RUNNING' AND NOT j.by_cluster) AS waits
     FROM job_schedule s JOIN service_runtime t ON t.service_id = s.service_id JOIN release r ON r.id = t.release_id
    WHERE s.driver = $1 AND s.next_at = 'infinity' AND t.driver = $1 AND t.desired = 'RUNNING'`,
);

/** Ids of runs: those that are known, with the code of what failed. */
export const knownRuns = statement<{ id: string; status: string; code: string | null }>(
  'knownJobRuns',
  `SELECT id, status, failure ->> 'code' AS code FROM job_run WHERE id = ANY($1::uuid[])`,
);

/** Id, service, release, due, driver, when it was started. No row: another one runs still, it is known, or the job does not run there. */
export const insertClusterRun = statement<{ id: string }>(
  'insertClusterJobRun',
  `INSERT INTO job_run (id, service_id, release_id, due_at, driver, launched_at, by_cluster)
   SELECT $1::uuid, $2::uuid, $3::uuid, $4::timestamptz, $5::text, $6::timestamptz, true
    WHERE EXISTS (SELECT FROM service_runtime t WHERE t.service_id = $2::uuid AND t.driver = $5::text AND t.desired = 'RUNNING')
      AND EXISTS (SELECT FROM release r WHERE r.id = $3::uuid AND r.service_id = $2::uuid)
   ON CONFLICT DO NOTHING RETURNING id`,
);
