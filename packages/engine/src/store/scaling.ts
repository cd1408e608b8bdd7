import { statement } from '@davit/db';
import type { ReleaseCommit, ReleaseConfig } from '../model.ts';

export interface ScaledRow {
  readonly service_id: string;
  readonly organization_id: string;
  readonly project_id: string;
  readonly environment_id: string;
  readonly release_id: string;
  readonly rollout: string;
  readonly instances: number;
  readonly settled_instances: number;
  /** Number of instances that were ready at the last look; null if it is not known yet. */
  readonly running_instances: number | null;
  readonly config: ReleaseConfig;
  readonly image_id: string;
  readonly commit: ReleaseCommit | null;
}

const isFree = (table: string): string =>
  `NOT EXISTS (SELECT 1 FROM deployment d WHERE d.environment_id = ${table}.environment_id AND d.status = 'RUNNING')`;

/** Returns services that scale and are not being deployed. Parameters: driver, service or null for all services. */
export const scaledServices = statement<ScaledRow>(
  'scaledServices',
  `SELECT t.service_id, t.organization_id, t.project_id, t.environment_id, t.release_id, t.rollout, t.instances, t.settled_instances, t.running_instances,
          r.config, r.image_id, r.commit
     FROM service_runtime t JOIN release r ON r.id = t.release_id
    WHERE t.driver = $1 AND t.desired = 'RUNNING' AND t.instances IS NOT NULL AND t.settled_instances IS NOT NULL
      AND r.config ? 'scaling' AND r.image_id IS NOT NULL AND ($2::uuid IS NULL OR t.service_id = $2) AND ${isFree('t')}`,
);

/**
 * Parameters: service, rollout, current number, new number. Returns no row if the service was changed otherwise
 * meanwhile.
 */
export const beginScaling = statement<{ service_id: string }>(
  'beginScaling',
  `UPDATE service_runtime t SET instances = $4
    WHERE t.service_id = $1 AND t.rollout = $2 AND t.desired = 'RUNNING' AND t.instances = $3 AND t.settled_instances = $3 AND ${isFree('t')}
   RETURNING t.service_id`,
);

/** Parameters: service, rollout, number that was reached. */
export const settleScaling = statement<{ service_id: string }>(
  'settleScaling',
  `UPDATE service_runtime t SET settled_instances = instances
    WHERE t.service_id = $1 AND t.rollout = $2 AND t.instances = $3 AND t.desired = 'RUNNING' AND ${isFree('t')} RETURNING t.service_id`,
);

/**
 * Resets the wanted number to the last number that was reached. Parameters: service, rollout, number that was given up.
 */
export const giveUpScaling = statement<{ service_id: string }>(
  'giveUpScaling',
  `UPDATE service_runtime t SET instances = settled_instances
    WHERE t.service_id = $1 AND t.rollout = $2 AND t.instances = $3 AND t.desired = 'RUNNING' AND ${isFree('t')} RETURNING t.service_id`,
);

export const insertScaling = statement(
  'insertScaling',
  `INSERT INTO service_scaling (service_id, from_instances, to_instances, reason) VALUES ($1, $2, $3, $4)`,
);

export interface ScalingRow {
  readonly at: string;
  readonly from_instances: number;
  readonly to_instances: number;
  readonly reason: string;
}

/** Parameters: service, age limit in minutes. Newest first. */
export const readScalings = statement<ScalingRow>(
  'readScalings',
  `SELECT at, from_instances, to_instances, reason FROM service_scaling
    WHERE service_id = $1 AND at > clock_timestamp() - make_interval(mins => $2) ORDER BY id DESC LIMIT 100`,
);

export const trimScalings = statement(
  'trimScalings',
  `DELETE FROM service_scaling WHERE at < clock_timestamp() - interval '1 day'`,
);
