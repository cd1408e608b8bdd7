import { statement } from '@davit/db';
import type { ReleaseCommit, ReleaseConfig } from '../model.ts';
import type { ConditionSeverity, ServiceView } from '../port.ts';
import { journalVersion } from './journal.ts';

/** Serializes changes to the queue of one environment until the end of the transaction. */
export const lockQueue = statement('lockQueue', `SELECT pg_advisory_xact_lock(hashtextextended('davit queue ' || $1::text, 0))`);

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
  'findMergeable',
  `SELECT d.id FROM deployment d
    WHERE d.environment_id = $1 AND d.status = 'QUEUED' AND d.actor = $2 AND d.action = $3
      AND d.cluster_id = $5 AND d.driver = $6
      AND NOT EXISTS (
        SELECT 1 FROM deployment later JOIN deployment_service s ON s.deployment_id = later.id
         WHERE later.environment_id = d.environment_id AND later.status = 'QUEUED'
           AND later.sequence > d.sequence AND s.service_id = ANY ($4::uuid[]))
      AND NOT EXISTS (SELECT 1 FROM deployment_service s WHERE s.deployment_id = d.id AND s.event IS NOT NULL)
    ORDER BY d.sequence DESC LIMIT 1 FOR UPDATE OF d`,
);

/** Parameters: deployment, whether the joining request is for the whole environment. */
export const join = statement(
  'joinDeployment',
  `UPDATE deployment SET whole_environment = whole_environment OR $2, journal_version = greatest(journal_version, ${journalVersion}) WHERE id = $1`,
);

export const insertDeployment = statement(
  'insertDeployment',
  `INSERT INTO deployment (id, organization_id, project_id, environment_id, cluster_id, driver, action, whole_environment, origin, triggered_by, actor,
                           journal_version)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, ${journalVersion})`,
);

export const insertReleases = statement(
  'insertReleases',
  `INSERT INTO release (id, organization_id, environment_id, service_id, config, config_hash, commit, values_commit, created_by)
   SELECT r.id, $1, $2, r.service_id, r.config, r.config_hash, r.commit, r.values_commit, $3
     FROM jsonb_to_recordset($4::jsonb) AS r(id uuid, service_id uuid, config jsonb, config_hash text, commit jsonb, values_commit text)`,
);

/**
 * Parameters: deployment, services, id of the call that asks for them. A service that the request already contains
 * takes the newer release and belongs to the newer call, because the same actor has asked again.
 */
export const insertServices = statement(
  'insertDeploymentServices',
  `INSERT INTO deployment_service (deployment_id, service_id, service_type, service_name, icon_uri, release_id, rollout,
                                   stage_id, stage_name, stage_position, event, call_id)
   SELECT $1, s.service_id, s.service_type, s.service_name, s.icon_uri, s.release_id, s.rollout, s.stage_id, s.stage_name, s.stage_position, s.event, $3
     FROM jsonb_to_recordset($2::jsonb) AS s(service_id uuid, service_type text, service_name text, icon_uri text, release_id uuid,
                                             rollout uuid, stage_id uuid, stage_name text, stage_position integer, event text)
   ON CONFLICT (deployment_id, service_id) DO UPDATE SET release_id = excluded.release_id, stage_id = excluded.stage_id,
     stage_name = excluded.stage_name, stage_position = excluded.stage_position, call_id = excluded.call_id`,
);

export const notifyRunners = statement('notifyRunners', `SELECT pg_notify('davit_deployment', $1)`);

/**
 * Returns which of these services are deployed on a cluster or may still be deployed by a queued or running deployment.
 */
export const everDeployed = statement<{ service_id: string }>(
  'everDeployed',
  `SELECT service_id FROM service_runtime WHERE service_id = ANY ($1::uuid[]) AND desired <> 'NONE'
   UNION
   SELECT s.service_id FROM deployment_service s JOIN deployment d ON d.id = s.deployment_id
    WHERE s.service_id = ANY ($1::uuid[]) AND d.action = 'DEPLOY' AND d.status IN ('QUEUED', 'RUNNING')`,
);

/**
 * Returns whether a cluster may hold objects of the service. They may also be left by a first deployment that failed,
 * or still be created by a queued or running deployment.
 */
export const isKnown = statement<{ known: boolean }>(
  'serviceIsKnown',
  `SELECT EXISTS (SELECT 1 FROM service_runtime WHERE service_id = $1)
       OR EXISTS (SELECT 1 FROM service_place WHERE service_id = $1)
       OR EXISTS (SELECT 1 FROM deployment_service s JOIN deployment d ON d.id = s.deployment_id
                   WHERE s.service_id = $1 AND d.status IN ('QUEUED', 'RUNNING')) AS known`,
);

export const readReleases = statement<{ id: string; service_id: string; image_id: string | null; image_name: string | null }>(
  'readReleases',
  `SELECT id, service_id, image_id, image_name FROM release WHERE id = ANY ($1::uuid[])`,
);

export interface WantedReleaseRow {
  readonly id: string;
  readonly config: ReleaseConfig;
  readonly config_hash: string;
  readonly image_id: string | null;
}

/** Parameter: ids of releases. */
export const wantedReleases = statement<WantedReleaseRow>(
  'wantedReleases',
  `SELECT id, config, config_hash, image_id FROM release WHERE id = ANY ($1::uuid[])`,
);

export const withdrawRequest = statement<{ id: string }>(
  'withdrawRequest',
  `UPDATE deployment SET status = 'WITHDRAWN', finished_at = clock_timestamp() WHERE id = $1 AND status = 'QUEUED' RETURNING id`,
);

export const requestPlace = statement<{ organization_id: string; environment_id: string; status: string }>(
  'requestPlace',
  `SELECT organization_id, environment_id, status FROM deployment WHERE id = $1`,
);

export const requestCancel = statement<{ id: string }>(
  'requestCancel',
  `UPDATE deployment SET cancel_requested_at = clock_timestamp(), cancel_force = $2
    WHERE environment_id = $1 AND status = 'RUNNING' AND (cancel_requested_at IS NULL OR ($2 AND NOT cancel_force)) RETURNING id`,
);

export const markCanceling = statement(
  'markCanceling',
  `UPDATE deployment_service SET phase = 'CANCELING' WHERE deployment_id = $1 AND phase IN ('WAITING', 'BUILDING', 'WORKING')`,
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
  'readRuntimes',
  `SELECT ${runtimeColumns} FROM service_runtime t LEFT JOIN release r ON r.id = t.release_id WHERE t.service_id = ANY ($1::uuid[])`,
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
  'keptRuntimes',
  `SELECT t.service_id, t.organization_id, t.project_id, t.environment_id, t.driver, t.desired, t.release_id, t.rollout,
          t.config_hash, t.running_status, t.running_instances, t.instances, t.settled_instances, r.image_id, r.image_name, r.commit,
          (SELECT min(c.severity) FROM service_condition c WHERE c.service_id = t.service_id) AS worst_condition,
          EXISTS (SELECT FROM service_condition c WHERE c.service_id = t.service_id AND c.kind = 'DISK' AND c.severity = 'ERROR'
                     AND c.failure ->> 'code' = 'VOLUME_EXCEEDED' AND c.seen_at > t.last_deployment_at) AS is_held
     FROM service_runtime t LEFT JOIN release r ON r.id = t.release_id
    WHERE t.driver = $1 AND t.desired = 'RUNNING' OR t.service_id = ANY ($2::uuid[])`,
);
