import { statement } from '@davit/db';
import type { Action, BuildCommit, JobEvent, ReleaseCommit, ReleaseConfig } from '../model.ts';
import type { StepName } from '../plan/plan.ts';
import type { StepOutput } from '../steps/step.ts';
import type { Phase } from '../states.ts';

/**
 * Seconds without a sign of a runner after which another runner takes over, even if the session of the first one still
 * exists.
 */
export const leaseSeconds = 15;

/**
 * Version of the deployments that this program records: their actions, their steps and the content of releases. It is
 * raised whenever an older program would not execute such a deployment correctly. A runner leaves deployments of later
 * versions to newer runners, so that in a rolling upgrade no program takes a deployment that it cannot finish.
 */
export const journalVersion = 1;

export interface ClaimedDeployment {
  readonly id: string;
  readonly organization_id: string;
  readonly project_id: string;
  readonly environment_id: string;
  readonly cluster_id: string;
  readonly driver: string;
  readonly execution_number: number;
  readonly action: Action;
  readonly whole_environment: boolean;
  readonly fence: number;
  readonly cancel_requested_at: string | null;
  readonly cancel_force: boolean;
  /** Time since which the deployment has waited for its cluster; null if it does not wait. */
  readonly waiting_since: string | null;
}

const claimedColumns = `d.id, d.organization_id, d.project_id, d.environment_id, d.cluster_id, d.driver, d.execution_number, d.action,
  d.whole_environment, d.fence, d.cancel_requested_at, d.cancel_force, d.waiting_since`;

/**
 * Claims the next request whose environment has no running deployment. Because of SKIP LOCKED, runners wait neither for
 * each other nor for a request that another request is joining. The unique index `deployment_running` prevents two
 * runners from claiming two requests of one environment: the statement of the second runner fails, and that runner
 * tries again.
 */
export const claimNext = statement<ClaimedDeployment>(
  'claimNext',
  `WITH next AS (
     SELECT q.id FROM deployment q
      WHERE q.status = 'QUEUED' AND q.journal_version <= ${journalVersion}
        AND NOT EXISTS (SELECT 1 FROM deployment r WHERE r.environment_id = q.environment_id AND r.status = 'RUNNING')
        AND NOT EXISTS (SELECT 1 FROM deployment e WHERE e.environment_id = q.environment_id AND e.status = 'QUEUED' AND e.sequence < q.sequence)
      ORDER BY q.sequence LIMIT 1 FOR UPDATE SKIP LOCKED)
   UPDATE deployment d
      SET status = 'RUNNING', runner_id = $1, fence = d.fence + 1, started_at = clock_timestamp(),
          lease_until = clock_timestamp() + make_interval(secs => ${leaseSeconds}),
          execution_number = 1 + coalesce((SELECT max(m.execution_number) FROM deployment m WHERE m.environment_id = d.environment_id), 0)
     FROM next WHERE d.id = next.id AND d.status = 'QUEUED'
   RETURNING ${claimedColumns}`,
);

export const otherRunners = statement<{ runner_id: string; expired: boolean }>(
  'otherRunners',
  `SELECT DISTINCT runner_id, lease_until < clock_timestamp() AS expired FROM deployment
    WHERE status = 'RUNNING' AND runner_id <> $1 AND journal_version <= ${journalVersion}`,
);

/** Returns deployments that wait for a runner of a later version of Davit. */
export const ofLaterVersions = statement<{ id: string }>(
  'deploymentsOfLaterVersions',
  `SELECT id FROM deployment WHERE status IN ('QUEUED', 'RUNNING') AND journal_version > ${journalVersion} ORDER BY sequence`,
);

/** Takes over the deployments of another runner. The higher fence makes all later writes of the former runner fail. */
export const takeOver = statement<ClaimedDeployment>(
  'takeOver',
  `UPDATE deployment d SET runner_id = $1, fence = d.fence + 1, lease_until = clock_timestamp() + make_interval(secs => ${leaseSeconds})
    WHERE d.status = 'RUNNING' AND d.runner_id = $2 AND (NOT $3 OR d.lease_until < clock_timestamp())
      AND d.journal_version <= ${journalVersion}
   RETURNING ${claimedColumns}`,
);

/** Reclaims the deployments that this runner had to release. Parameters: runner, deployments that it is executing. */
export const reclaimOwn = statement<ClaimedDeployment>(
  'reclaimOwn',
  `UPDATE deployment d SET fence = d.fence + 1, lease_until = clock_timestamp() + make_interval(secs => ${leaseSeconds})
    WHERE d.status = 'RUNNING' AND d.runner_id = $1 AND d.id <> ALL ($2::uuid[])
   RETURNING ${claimedColumns}`,
);

/**
 * Marks a deployment as waiting for its cluster, unless it already is. Parameters: deployment, fence. Returns the
 * seconds that it has waited.
 */
export const beginWaiting = statement<{ seconds: number }>(
  'beginWaiting',
  `UPDATE deployment SET waiting_since = coalesce(waiting_since, clock_timestamp())
    WHERE id = $1 AND fence = $2 AND status = 'RUNNING'
   RETURNING extract(epoch FROM clock_timestamp() - waiting_since)::float8 AS seconds`,
);

/** Records that the cluster of a deployment is reachable again. Parameters: deployment, fence. */
export const endWaiting = statement(
  'endWaiting',
  `UPDATE deployment SET waiting_since = NULL WHERE id = $1 AND fence = $2 AND status = 'RUNNING'`,
);

export const renewLeases = statement<{ id: string; fence: number; canceling: boolean; forced: boolean }>(
  'renewLeases',
  `UPDATE deployment SET lease_until = clock_timestamp() + make_interval(secs => ${leaseSeconds})
    WHERE runner_id = $1 AND status = 'RUNNING'
   RETURNING id, fence, cancel_requested_at IS NOT NULL AS canceling,
     cancel_requested_at IS NOT NULL AND cancel_force AS forced`,
);

export const registerRunner = statement(
  'registerRunner',
  `INSERT INTO runner (id) VALUES ($1) ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp()`,
);

/**
 * Deletes the rows of processes that have exited. Each start of a process has a row, and a running process updates its
 * row every few seconds.
 */
export const forgetRunners = statement(
  'forgetRunners',
  `DELETE FROM runner r WHERE r.seen_at < clock_timestamp() - interval '1 day'
      AND NOT EXISTS (SELECT 1 FROM deployment d WHERE d.runner_id = r.id AND d.status = 'RUNNING')`,
);

export const fenced = `EXISTS (SELECT 1 FROM deployment f WHERE f.id = $1 AND f.fence = $2 AND f.status = 'RUNNING')`;

/** Returns a row as long as the fence holds. Parameters: deployment, fence. */
export const holds = statement('holdsDeployment', `SELECT 1 FROM deployment WHERE id = $1 AND fence = $2 AND status = 'RUNNING'`);

export const beginServices = statement(
  'beginServices',
  `UPDATE deployment_service SET phase = 'WAITING' WHERE deployment_id = $1 AND phase = 'QUEUED' AND ${fenced}`,
);

export interface TaskRow {
  readonly service_id: string;
  readonly service_type: string;
  readonly service_name: string;
  readonly rollout: string;
  readonly stage_id: string | null;
  readonly stage_name: string;
  readonly stage_position: number;
  readonly phase: Phase;
  readonly failure_code: string | null;
  readonly event: JobEvent | null;
  /** The call that asked for the service; null in older requests. */
  readonly call_id: string | null;
  readonly release_id: string | null;
  readonly config: ReleaseConfig | null;
  readonly config_hash: string | null;
  readonly commit: ReleaseCommit | null;
  readonly values_commit: string | null;
  readonly image_id: string | null;
  readonly image_name: string | null;
}

export const readTasks = statement<TaskRow>(
  'readTasks',
  `SELECT s.service_id, s.service_type, s.service_name, s.rollout, s.stage_id, s.stage_name, s.stage_position, s.phase,
          s.failure ->> 'code' AS failure_code, s.event, s.call_id, s.release_id,
          r.config, r.config_hash, r.commit, r.values_commit, r.image_id, r.image_name
     FROM deployment_service s LEFT JOIN release r ON r.id = s.release_id
    WHERE s.deployment_id = $1 ORDER BY s.stage_position, s.created_at, s.service_id`,
);

/** Sets the release of a restart. A restart runs the release that is current when it begins. */
export const adoptRelease = statement(
  'adoptRelease',
  `UPDATE deployment_service SET release_id = $4 WHERE deployment_id = $1 AND service_id = $3 AND release_id IS NULL AND ${fenced}`,
);

export const setPhase = statement(
  'setPhase',
  `UPDATE deployment_service
      SET phase = $4, failure = $5::jsonb,
          started_at = CASE WHEN $4 IN ('BUILDING', 'WORKING') THEN coalesce(started_at, clock_timestamp()) ELSE started_at END,
          finished_at = CASE WHEN $4 IN ('SUCCEEDED', 'FAILED', 'BUILD_FAILED', 'CANCELED') THEN clock_timestamp() END
    WHERE deployment_id = $1 AND service_id = $3 AND ${fenced}`,
);

/** Marks all services of a deployment that have not ended as failed. Parameters: deployment, fence, failure. */
export const failServices = statement(
  'failServices',
  `UPDATE deployment_service SET phase = 'FAILED', failure = $3::jsonb, finished_at = clock_timestamp()
    WHERE deployment_id = $1 AND phase NOT IN ('SUCCEEDED', 'FAILED', 'BUILD_FAILED', 'CANCELED') AND ${fenced}`,
);

export const insertSteps = statement(
  'insertSteps',
  `INSERT INTO deployment_step (deployment_id, service_id, position, name, metric)
   SELECT $1, s.service_id, s.position, s.name, s.metric
     FROM jsonb_to_recordset($3::jsonb) AS s(service_id uuid, position integer, name text, metric text)
    WHERE ${fenced}
   ON CONFLICT DO NOTHING`,
);

export interface StepRow {
  readonly service_id: string;
  readonly position: number;
  readonly name: StepName;
  readonly status: 'PENDING' | 'RUNNING' | 'DONE' | 'SKIPPED' | 'FAILED' | 'CANCELED';
  readonly attempt: number;
  readonly output: StepOutput | null;
}

export const readSteps = statement<StepRow>(
  'readSteps',
  `SELECT service_id, position, name, status, attempt, output FROM deployment_step WHERE deployment_id = $1 ORDER BY service_id, position`,
);

export const beginStep = statement(
  'beginStep',
  `UPDATE deployment_step SET status = 'RUNNING', attempt = attempt + 1, started_at = coalesce(started_at, clock_timestamp())
    WHERE deployment_id = $1 AND service_id = $3 AND position = $4 AND ${fenced}`,
);

export const endStep = statement(
  'endStep',
  `UPDATE deployment_step SET status = $5, output = $6::jsonb, finished_at = clock_timestamp(), started_at = coalesce(started_at, clock_timestamp())
    WHERE deployment_id = $1 AND service_id = $3 AND position = $4 AND ${fenced}`,
);

/**
 * Sets commit and image of a release. A build or pull does so once. It happens again if the release must run on a
 * cluster that cannot run the image.
 */
export const completeRelease = statement(
  'completeRelease',
  `UPDATE release SET commit = $4::jsonb, image_name = $5, image_id = $6 WHERE id = $3 AND image_id IS DISTINCT FROM $6 AND ${fenced}`,
);

/**
 * Returns the details of a commit from which an earlier release of the service was built, so that they need not be
 * fetched.
 */
export const knownCommit = statement<{ commit: BuildCommit }>(
  'knownCommit',
  `SELECT commit FROM release
    WHERE service_id = $1 AND commit ->> 'id' = $2 AND image_id IS NOT NULL
      AND config -> 'source' = $3::jsonb
    ORDER BY created_at DESC LIMIT 1`,
);

export const finishDeployment = statement(
  'finishDeployment',
  `UPDATE deployment SET status = $3, finished_at = clock_timestamp() WHERE id = $1 AND fence = $2 AND status = 'RUNNING'`,
);

/**
 * Sets what should run of a service, with the number of instances; the number is null if no instance lasts. If the
 * rollout stays the same, the number is not changed.
 */
export const setRuntime = statement(
  'setRuntime',
  `INSERT INTO service_runtime (service_id, organization_id, project_id, environment_id, driver, desired, release_id, rollout, config_hash, commit, running_status, last_deployment_at,
                                instances, settled_instances, running_instances)
   SELECT $3, $4, $5, $6, $7, $8, $9, $10, $11, (SELECT commit FROM release WHERE id = $9), $12, clock_timestamp(), $13, $13, $13 WHERE ${fenced}
   ON CONFLICT (service_id) DO UPDATE SET desired = excluded.desired, release_id = excluded.release_id, rollout = excluded.rollout,
     config_hash = excluded.config_hash, commit = excluded.commit, running_status = excluded.running_status, driver = excluded.driver,
     last_deployment_at = excluded.last_deployment_at, updated_at = clock_timestamp(), running_instances = excluded.running_instances,
     instances = CASE WHEN service_runtime.rollout = excluded.rollout AND service_runtime.desired = 'RUNNING'
                      THEN coalesce(service_runtime.instances, excluded.instances) ELSE excluded.instances END,
     settled_instances = CASE WHEN service_runtime.rollout = excluded.rollout AND service_runtime.desired = 'RUNNING'
                              THEN coalesce(service_runtime.settled_instances, excluded.settled_instances) ELSE excluded.settled_instances END`,
);

export const stopRuntime = statement(
  'stopRuntime',
  `UPDATE service_runtime SET desired = 'STOPPED', running_status = 'STOPPED', running_instances = 0, updated_at = clock_timestamp() WHERE service_id = $3 AND ${fenced}`,
);

export const removeRuntime = statement('removeRuntime', `DELETE FROM service_runtime WHERE service_id = $3 AND ${fenced}`);

export const setRunningStatus = statement(
  'setRunningStatus',
  `UPDATE service_runtime SET running_status = $2, running_instances = $3
    WHERE service_id = $1 AND (running_status IS DISTINCT FROM $2 OR running_instances IS DISTINCT FROM $3)`,
);

/** Clears the running status of all services of an unreachable cluster. */
export const clearRunningStatus = statement(
  'clearRunningStatus',
  `UPDATE service_runtime SET running_status = NULL, running_instances = NULL WHERE driver = $1 AND desired = 'RUNNING' AND running_status IS NOT NULL`,
);

export const servicesBeingDeployed = statement<{ service_id: string }>(
  'servicesBeingDeployed',
  `SELECT s.service_id FROM deployment d JOIN deployment_service s ON s.deployment_id = d.id WHERE d.status = 'RUNNING'`,
);

/** Returns the configurations of releases. The configuration of a release never changes. */
export const releaseConfigs = statement<{ id: string; config: ReleaseConfig }>(
  'releaseConfigs',
  `SELECT id, config FROM release WHERE id = ANY ($1::uuid[])`,
);

export const removeReleases = statement('removeReleases', `DELETE FROM release WHERE service_id = $1`);
export const removeServiceLog = statement('removeServiceLog', `DELETE FROM service_log WHERE service_id = $1`);
export const removeLogPositions = statement(
  'removeLogPositions',
  `WITH origins AS (DELETE FROM log_origin WHERE service_id = $1) DELETE FROM log_position WHERE service_id = $1`,
);
export const removeDeployments = statement('removeDeployments', `DELETE FROM deployment WHERE environment_id = $1`);

/** Returns environments with a running deployment. The keeper does not touch their instances. */
export const busyEnvironments = statement<{ environment_id: string }>(
  'busyEnvironments',
  `SELECT environment_id FROM deployment WHERE status = 'RUNNING'`,
);
