import { statement } from '@davit/db';
import type { ReleaseCommit, ReleaseConfig } from '../model.ts';
import type { ConditionSeverity, ServiceView } from '../port.ts';
import { journalVersion } from './journal.ts';

/** Serializes changes to the queue of one environment until the end of the transaction. */
export const lockQueue = statement('lock_queue', `select lock_queue($1)`);

/**
 * Returns a queued request that the new request may join. All of these hold:
 *
 * - The requests have the same actor and action.
 * - The requests are for the same cluster. After a move, a queued request is still for the former cluster.
 * - No request queued behind it concerns one of the services, because joining would overtake that request.
 *
 * FOR UPDATE keeps runners from starting the request meanwhile, because they skip locked rows.
 */
export const findMergeable = statement<{ id: string }>(
  'find_mergeable',
  `select d.id from deployment d
    where d.environment_id = $1 and d.status = 'QUEUED' and d.actor = $2 and d.action = $3
      and d.cluster_id = $5 and d.driver = $6 and d.merge_key = $7
      and not exists (
        select 1 from deployment later join deployment_service s on s.deployment_id = later.id
         where later.environment_id = d.environment_id and later.status = 'QUEUED'
           and later.sequence > d.sequence and s.service_id = any ($4::uuid[]))
      and not exists (select 1 from deployment_service s where s.deployment_id = d.id and s.event is not null)
    order by d.sequence desc limit 1 for update of d`,
);

/** Parameters: deployment, whether the joining request is for the whole environment. */
export const join = statement(
  'join_deployment',
  `update deployment set whole_environment = whole_environment or $2, journal_version = greatest(journal_version, ${journalVersion}) where id = $1`,
);

export const insertDeployment = statement(
  'insert_deployment',
  `insert into deployment (id, organization_id, project_id, environment_id, cluster_id, driver, action, whole_environment, origin, triggered_by, actor,
                           merge_key, journal_version)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, ${journalVersion})`,
);

export const insertReleases = statement(
  'insert_releases',
  `insert into release (id, organization_id, environment_id, service_id, config, config_hash, commit, values_commit, created_by)
   select r.id, $1, $2, r.service_id, r.config, r.config_hash, r.commit, r.values_commit, $3
     from jsonb_to_recordset($4::jsonb) as r(id uuid, service_id uuid, config jsonb, config_hash text, commit jsonb, values_commit text)`,
);

/**
 * Parameters: deployment, services, id of the call that asks for them. A service that the request already contains
 * takes the newer release and belongs to the newer call, because the same actor has asked again.
 */
export const insertServices = statement(
  'insert_deployment_services',
  `insert into deployment_service (deployment_id, service_id, service_type, service_name, icon_uri, release_id, rollout,
                                   stage_id, stage_name, stage_position, event, call_id)
   select $1, s.service_id, s.service_type, s.service_name, s.icon_uri, s.release_id, s.rollout, s.stage_id, s.stage_name, s.stage_position, s.event, $3
     from jsonb_to_recordset($2::jsonb) as s(service_id uuid, service_type text, service_name text, icon_uri text, release_id uuid,
                                             rollout uuid, stage_id uuid, stage_name text, stage_position integer, event text)
   on conflict (deployment_id, service_id) do update set release_id = excluded.release_id, stage_id = excluded.stage_id,
     stage_name = excluded.stage_name, stage_position = excluded.stage_position, call_id = excluded.call_id`,
);

/** Does the same for the environment of a deployment. */
export const lockQueueOf = statement('lock_queue_of', `select lock_queue(environment_id) from deployment where id = $1`);

export const notifyRunners = statement('notify_runners', `select pg_notify('davit_deployment', $1)`);

/**
 * Returns which of these services are deployed on a cluster or may still be deployed by a queued or running deployment.
 */
export const everDeployed = statement<{ service_id: string }>(
  'ever_deployed',
  `select service_id from service_runtime where service_id = any ($1::uuid[]) and desired <> 'NONE'
   union
   select s.service_id from deployment_service s join deployment d on d.id = s.deployment_id
    where s.service_id = any ($1::uuid[]) and d.action = 'DEPLOY' and d.status in ('QUEUED', 'RUNNING')`,
);

/**
 * Returns whether a cluster may hold objects of the service. They may also be left by a first deployment that failed,
 * or still be created by a queued or running deployment.
 */
export const isKnown = statement<{ known: boolean }>(
  'service_is_known',
  `select exists (select 1 from service_runtime where service_id = $1)
       or exists (select 1 from service_place where service_id = $1)
       or exists (select 1 from deployment_service s join deployment d on d.id = s.deployment_id
                   where s.service_id = $1 and d.status in ('QUEUED', 'RUNNING')) as known`,
);

export const readReleases = statement<{ id: string; service_id: string; image_id: string | null; image_name: string | null }>(
  'read_releases',
  `select id, service_id, image_id, image_name from release where id = any ($1::uuid[])`,
);

export interface WantedReleaseRow {
  readonly id: string;
  readonly config: ReleaseConfig;
  readonly config_hash: string;
  readonly image_id: string | null;
}

/** Parameter: ids of releases. */
export const wantedReleases = statement<WantedReleaseRow>(
  'wanted_releases',
  `select id, config, config_hash, image_id from release where id = any ($1::uuid[])`,
);

export const withdrawRequest = statement<{ id: string }>(
  'withdraw_request',
  `update deployment set status = 'WITHDRAWN', finished_at = clock_timestamp() where id = $1 and status = 'QUEUED' returning id`,
);

export const readRequestIds = statement<{ organization_id: string; environment_id: string; status: string }>(
  'request_place',
  `select organization_id, environment_id, status from deployment where id = $1`,
);

export const requestCancel = statement<{ id: string }>(
  'request_cancel',
  `update deployment set cancel_requested_at = clock_timestamp(), cancel_force = $2
    where environment_id = $1 and status = 'RUNNING' and (cancel_requested_at is null or ($2 and not cancel_force)) returning id`,
);

export const markCanceling = statement(
  'mark_canceling',
  `update deployment_service set phase = 'CANCELING' where deployment_id = $1 and phase in ('WAITING', 'BUILDING', 'WORKING')`,
);

export interface RuntimeRow {
  readonly service_id: string;
  readonly environment_id: string;
  readonly driver: string;
  readonly desired: 'RUNNING' | 'STOPPED' | 'NONE';
  readonly release_id: string | null;
  readonly rollout: string | null;
  readonly config_hash: string | null;
  readonly config: ReleaseConfig | null;
  readonly image_id: string | null;
  readonly image_name: string | null;
  readonly commit: ReleaseCommit | null;
  readonly organization_id: string;
  readonly project_id: string;
  readonly instances: number | null;
  readonly settled_instances: number | null;
}

const runtimeColumns = `t.service_id, t.organization_id, t.project_id, t.environment_id, t.driver, t.desired, t.release_id, t.rollout,
  t.config_hash, t.instances, t.settled_instances, r.config, r.image_id, r.image_name, r.commit`;

export const readRuntimes = statement<RuntimeRow>(
  'read_runtimes',
  `select ${runtimeColumns} from service_runtime t left join release r on r.id = t.release_id where t.service_id = any ($1::uuid[])`,
);

export interface KeptRow extends Omit<RuntimeRow, 'config'> {
  readonly running_status: ServiceView['runningStatus'];
  readonly running_instances: number | null;
  readonly worst_condition: ConditionSeverity | null;
  /** Whether the service was stopped because its volumes exceeded their limit, and has not been deployed since. */
  readonly is_held: boolean;
}

/**
 * Returns the services that the keeper looks after: those of a driver that should run, and those with the given ids,
 * because they have instances. `min` returns the worst severity, because ERROR comes before WARNING in the alphabet.
 */
export const keptRuntimes = statement<KeptRow>(
  'kept_runtimes',
  `select t.service_id, t.organization_id, t.project_id, t.environment_id, t.driver, t.desired, t.release_id, t.rollout,
          t.config_hash, t.running_status, t.running_instances, t.instances, t.settled_instances, r.image_id, r.image_name, r.commit,
          (select min(c.severity) from service_condition c where c.service_id = t.service_id) as worst_condition,
          exists (select from service_condition c where c.service_id = t.service_id and c.kind = 'DISK' and c.severity = 'ERROR'
                     and c.failure ->> 'code' = 'VOLUME_EXCEEDED' and c.seen_at > t.last_deployment_at) as is_held
     from service_runtime t left join release r on r.id = t.release_id
    where t.driver = $1 and t.desired = 'RUNNING' or t.service_id = any ($2::uuid[])`,
);
