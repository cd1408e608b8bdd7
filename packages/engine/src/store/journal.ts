import { statement } from '@davit/db';
import type { Action, BuildCommit, JobEvent, ReleaseCommit, ReleaseConfig } from '../model.ts';
import type { StepName } from '../plan/plan.ts';
import type { Phase } from '../states.ts';
import { insertLines } from './logs.ts';

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
 * Makes all later statements of a transaction use indexes. A connection keeps the plan of a statement, also one that
 * was made while the table was almost empty, when reading the whole table is cheapest.
 */
export const useIndexes = statement('use_indexes', `select set_config('enable_seqscan', 'off', true)`);

/**
 * Claims the oldest requests that are next in their environments, in a transaction after `useIndexes`. Parameters:
 * runner, maximum number of requests. Migration 0039 explains `is_next`. Because of SKIP LOCKED, runners wait neither
 * for each other nor for a request that another request is joining. The update has no further condition, which could
 * make PostgreSQL search all queued requests: the rows are locked, and `is_next` was checked again after locking.
 */
export const claimNext = statement<ClaimedDeployment>(
  'claim_next',
  `update deployment d
      set status = 'RUNNING', is_next = false, runner_id = $1, fence = d.fence + 1, started_at = clock_timestamp(),
          lease_until = clock_timestamp() + make_interval(secs => ${leaseSeconds}),
          execution_number = 1 + coalesce((select max(m.execution_number) from deployment m where m.environment_id = d.environment_id), 0)
    where d.id = any (array(
      select n.id from deployment n where n.is_next and n.journal_version <= ${journalVersion}
       order by n.sequence limit $2 for update skip locked))
   returning ${claimedColumns}`,
);

export const otherRunners = statement<{ runner_id: string; expired: boolean }>(
  'other_runners',
  `select distinct runner_id, lease_until < clock_timestamp() as expired from deployment
    where status = 'RUNNING' and runner_id <> $1 and journal_version <= ${journalVersion}`,
);

/** Returns deployments that wait for a runner of a later version of Davit. */
export const ofLaterVersions = statement<{ id: string }>(
  'deployments_of_later_versions',
  `select id from deployment where status in ('QUEUED', 'RUNNING') and journal_version > ${journalVersion} order by sequence`,
);

/** Takes over the deployments of another runner. The higher fence makes all later writes of the former runner fail. */
export const takeOver = statement<ClaimedDeployment>(
  'take_over',
  `update deployment d set runner_id = $1, fence = d.fence + 1, lease_until = clock_timestamp() + make_interval(secs => ${leaseSeconds})
    where d.status = 'RUNNING' and d.runner_id = $2 and (not $3 or d.lease_until < clock_timestamp())
      and d.journal_version <= ${journalVersion}
   returning ${claimedColumns}`,
);

/** Reclaims the deployments that this runner had to release. Parameters: runner, deployments that it is executing. */
export const reclaimOwn = statement<ClaimedDeployment>(
  'reclaim_own',
  `update deployment d set fence = d.fence + 1, lease_until = clock_timestamp() + make_interval(secs => ${leaseSeconds})
    where d.status = 'RUNNING' and d.runner_id = $1 and d.id <> all ($2::uuid[])
   returning ${claimedColumns}`,
);

/**
 * Marks a deployment as waiting for its cluster, unless it already is. Parameters: deployment, fence. Returns the
 * seconds that it has waited.
 */
export const beginWaiting = statement<{ seconds: number }>(
  'begin_waiting',
  `update deployment set waiting_since = coalesce(waiting_since, clock_timestamp())
    where id = $1 and fence = $2 and status = 'RUNNING'
   returning extract(epoch from clock_timestamp() - waiting_since)::float8 as seconds`,
);

/** Records that the cluster of a deployment is reachable again. Parameters: deployment, fence. */
export const endWaiting = statement(
  'end_waiting',
  `update deployment set waiting_since = null where id = $1 and fence = $2 and status = 'RUNNING'`,
);

export const renewLeases = statement<{ id: string; fence: number; canceling: boolean; forced: boolean }>(
  'renew_leases',
  `update deployment set lease_until = clock_timestamp() + make_interval(secs => ${leaseSeconds})
    where runner_id = $1 and status = 'RUNNING'
   returning id, fence, cancel_requested_at is not null as canceling,
     cancel_requested_at is not null and cancel_force as forced`,
);

export const registerRunner = statement(
  'register_runner',
  `insert into runner (id) values ($1) on conflict (id) do update set seen_at = clock_timestamp()`,
);

/**
 * Deletes the rows of processes that have exited. Each start of a process has a row, and a running process updates its
 * row every few seconds.
 */
export const forgetRunners = statement(
  'forget_runners',
  `delete from runner r where r.seen_at < clock_timestamp() - interval '1 day'
      and not exists (select 1 from deployment d where d.runner_id = r.id and d.status = 'RUNNING')`,
);

export const fenced = `exists (select 1 from deployment f where f.id = $1 and f.fence = $2 and f.status = 'RUNNING')`;

/** Returns a row as long as the fence holds. Parameters: deployment, fence. */
export const holds = statement(
  'holds_deployment',
  `select 1 from deployment where id = $1 and fence = $2 and status = 'RUNNING'`,
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
  'read_tasks',
  `select s.service_id, s.service_type, s.service_name, s.rollout, s.stage_id, s.stage_name, s.stage_position, s.phase,
          s.failure ->> 'code' as failure_code, s.event, s.call_id, s.release_id,
          r.config, r.config_hash, r.commit, r.values_commit, r.image_id, r.image_name
     from deployment_service s left join release r on r.id = s.release_id
    where s.deployment_id = $1 order by s.stage_position, s.created_at, s.service_id`,
);

/** Sets the release of a restart. A restart runs the release that is current when it begins. */
export const adoptRelease = statement(
  'adopt_release',
  `update deployment_service set release_id = $4 where deployment_id = $1 and service_id = $3 and release_id is null and ${fenced}`,
);

/** Returns SQL that begins the step of the service `$3` with the position in a parameter; none if that is null. */
function beginStepAt(position: string): string {
  return `update deployment_step set status = 'RUNNING', attempt = attempt + 1, started_at = coalesce(started_at, clock_timestamp())
    where deployment_id = $1 and service_id = $3 and position = ${position}::integer and ${fenced}`;
}

/**
 * Sets the phase of a service, stores lines of its log and begins its next step. A phase that ends the service without
 * success ends its step that is RUNNING too: one that a killed process had begun and nobody began again, or one that
 * its cluster interrupted. Parameters 6 and 7: the lines, and the position of the next step or null.
 */
export const setPhase = statement(
  'set_phase',
  `with begun as (${beginStepAt('$7')}), line as (${insertLines('$6', fenced)}), ended as (
     update deployment_step set status = case $4 when 'CANCELED' then 'CANCELED' else 'FAILED' end, finished_at = clock_timestamp()
      where deployment_id = $1 and service_id = $3 and status = 'RUNNING' and $4 in ('FAILED', 'BUILD_FAILED', 'CANCELED') and ${fenced})
   update deployment_service
      set phase = $4, failure = $5::jsonb,
          started_at = case when $4 in ('BUILDING', 'WORKING') then coalesce(started_at, clock_timestamp()) else started_at end,
          finished_at = case when $4 in ('SUCCEEDED', 'FAILED', 'BUILD_FAILED', 'CANCELED') then clock_timestamp() end
    where deployment_id = $1 and service_id = $3 and ${fenced}`,
);

/** Marks all services of a deployment that have not ended as failed. Parameters: deployment, fence, failure. */
export const failServices = statement(
  'fail_services',
  `update deployment_service set phase = 'FAILED', failure = $3::jsonb, finished_at = clock_timestamp()
    where deployment_id = $1 and phase not in ('SUCCEEDED', 'FAILED', 'BUILD_FAILED', 'CANCELED') and ${fenced}`,
);

/** Makes the services of a deployment wait for their turn, and stores the steps that are not stored yet. */
export const beginServices = statement(
  'begin_services',
  `with waiting as (update deployment_service set phase = 'WAITING' where deployment_id = $1 and phase = 'QUEUED' and ${fenced})
   insert into deployment_step (deployment_id, service_id, position, name, metric)
   select $1, s.service_id, s.position, s.name, s.metric
     from jsonb_to_recordset($3::jsonb) as s(service_id uuid, position integer, name text, metric text)
    where ${fenced}
   on conflict do nothing`,
);

/**
 * The output of a step, stored in the journal as JSON for later steps and for the runner that resumes after a crash. It
 * never contains a secret. Each step adds members of its own.
 */
export interface StepOutput {
  /** Steps of the task that have nothing left to do. */
  readonly skip?: readonly StepName[];
}

export interface StepRow {
  readonly service_id: string;
  readonly position: number;
  readonly name: StepName;
  readonly status: 'PENDING' | 'RUNNING' | 'DONE' | 'SKIPPED' | 'FAILED' | 'CANCELED';
  readonly attempt: number;
  readonly output: StepOutput | null;
}

export const readSteps = statement<StepRow>(
  'read_steps',
  `select service_id, position, name, status, attempt, output from deployment_step where deployment_id = $1 order by service_id, position`,
);

export const beginStep = statement('begin_step', beginStepAt('$4'));

/**
 * Ends a step, stores the last lines of its log and begins the next step. Parameters 7 and 8: the lines, and the
 * position of the next step or null.
 */
export const endStep = statement(
  'end_step',
  `with begun as (${beginStepAt('$8')}), line as (${insertLines('$7', fenced)})
   update deployment_step set status = $5, output = $6::jsonb, finished_at = clock_timestamp(), started_at = coalesce(started_at, clock_timestamp())
    where deployment_id = $1 and service_id = $3 and position = $4 and ${fenced}`,
);

/**
 * Sets commit and image of a release. A build or pull does so once. It happens again if the release must run on a
 * cluster that cannot run the image.
 */
export const completeRelease = statement(
  'complete_release',
  `update release set commit = $4::jsonb, image_name = $5, image_id = $6 where id = $3 and image_id is distinct from $6 and ${fenced}`,
);

/**
 * Returns the details of a commit from which an earlier release of the service was built, so that they need not be
 * fetched.
 */
export const knownCommit = statement<{ commit: BuildCommit }>(
  'known_commit',
  `select commit from release
    where service_id = $1 and commit ->> 'id' = $2 and image_id is not null
      and config -> 'source' = $3::jsonb
    order by created_at desc limit 1`,
);

/**
 * Ends a deployment. Its steps that are still RUNNING end with it: those of services that `failServices` has ended, and
 * a step behind a success that could not be finished.
 */
export const finishDeployment = statement(
  'finish_deployment',
  `with ended as (
     update deployment_step p set status = case s.phase when 'CANCELED' then 'CANCELED' else 'FAILED' end, finished_at = clock_timestamp()
       from deployment_service s
      where p.deployment_id = $1 and p.status = 'RUNNING' and s.deployment_id = p.deployment_id and s.service_id = p.service_id and ${fenced})
   update deployment set status = $3, finished_at = clock_timestamp() where id = $1 and fence = $2 and status = 'RUNNING'`,
);

/**
 * Sets what should run of a service, with the number of instances; the number is null if no instance lasts. If the
 * rollout stays the same, the number is not changed.
 */
export const setRuntime = statement(
  'set_runtime',
  `insert into service_runtime (service_id, organization_id, project_id, environment_id, driver, desired, release_id, rollout, config_hash, commit, running_status, last_deployment_at,
                                instances, settled_instances, running_instances)
   select $3, $4, $5, $6, $7, $8, $9, $10, $11, (select commit from release where id = $9), $12, clock_timestamp(), $13, $13, $13 where ${fenced}
   on conflict (service_id) do update set desired = excluded.desired, release_id = excluded.release_id, rollout = excluded.rollout,
     config_hash = excluded.config_hash, commit = excluded.commit, running_status = excluded.running_status, driver = excluded.driver,
     last_deployment_at = excluded.last_deployment_at, updated_at = clock_timestamp(), running_instances = excluded.running_instances,
     instances = case when service_runtime.rollout = excluded.rollout and service_runtime.desired = 'RUNNING'
                      then coalesce(service_runtime.instances, excluded.instances) else excluded.instances end,
     settled_instances = case when service_runtime.rollout = excluded.rollout and service_runtime.desired = 'RUNNING'
                              then coalesce(service_runtime.settled_instances, excluded.settled_instances) else excluded.settled_instances end`,
);

export const stopRuntime = statement(
  'stop_runtime',
  `update service_runtime set desired = 'STOPPED', running_status = 'STOPPED', running_instances = 0, updated_at = clock_timestamp() where service_id = $3 and ${fenced}`,
);

export const removeRuntime = statement('remove_runtime', `delete from service_runtime where service_id = $3 and ${fenced}`);

export const setRunningStatus = statement(
  'set_running_status',
  `update service_runtime set running_status = $2, running_instances = $3
    where service_id = $1 and (running_status is distinct from $2 or running_instances is distinct from $3)`,
);

/** Clears the running status of all services of an unreachable cluster. */
export const clearRunningStatus = statement(
  'clear_running_status',
  `update service_runtime set running_status = null, running_instances = null where driver = $1 and desired = 'RUNNING' and running_status is not null`,
);

export const servicesBeingDeployed = statement<{ service_id: string; rollout: string }>(
  'services_being_deployed',
  `select s.service_id, s.rollout from deployment d join deployment_service s on s.deployment_id = d.id where d.status = 'RUNNING'`,
);

/** Returns the configurations of releases. The configuration of a release never changes. */
export const releaseConfigs = statement<{ id: string; config: ReleaseConfig }>(
  'release_configs',
  `select id, config from release where id = any ($1::uuid[])`,
);

export const removeReleases = statement('remove_releases', `delete from release where service_id = $1`);
export const removeServiceLog = statement('remove_service_log', `delete from service_log where service_id = $1`);
/** Must follow `removeServiceLog`, which waits for lines that are being moved into a segment. */
export const removeLogSegments = statement('remove_log_segments', `delete from log_segment where service_id = $1`);
export const removeLogPositions = statement(
  'remove_log_positions',
  `with origins as (delete from log_origin where service_id = $1) delete from log_position where service_id = $1`,
);
export const removeDeployments = statement('remove_deployments', `delete from deployment where environment_id = $1`);

/** Returns environments with a running deployment. The keeper does not touch their instances. */
export const busyEnvironments = statement<{ environment_id: string }>(
  'busy_environments',
  `select environment_id from deployment where status = 'RUNNING'`,
);
