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
  `not exists (select 1 from deployment d where d.environment_id = ${table}.environment_id and d.status = 'RUNNING')`;

/** Returns services that scale and are not being deployed. Parameters: driver, service or null for all services. */
export const scaledServices = statement<ScaledRow>(
  'scaled_services',
  `select t.service_id, t.organization_id, t.project_id, t.environment_id, t.release_id, t.rollout, t.instances, t.settled_instances, t.running_instances,
          r.config, r.image_id, r.commit
     from service_runtime t join release r on r.id = t.release_id
    where t.driver = $1 and t.desired = 'RUNNING' and t.instances is not null and t.settled_instances is not null
      and r.config ? 'scaling' and r.image_id is not null and ($2::uuid is null or t.service_id = $2) and ${isFree('t')}`,
);

/**
 * Parameters: service, rollout, current number, new number. Returns no row if the service was changed otherwise
 * meanwhile.
 */
export const beginScaling = statement<{ service_id: string }>(
  'begin_scaling',
  `update service_runtime t set instances = $4
    where t.service_id = $1 and t.rollout = $2 and t.desired = 'RUNNING' and t.instances = $3 and t.settled_instances = $3 and ${isFree('t')}
   returning t.service_id`,
);

/** Parameters: service, rollout, number that was reached. */
export const settleScaling = statement<{ service_id: string }>(
  'settle_scaling',
  `update service_runtime t set settled_instances = instances
    where t.service_id = $1 and t.rollout = $2 and t.instances = $3 and t.desired = 'RUNNING' and ${isFree('t')} returning t.service_id`,
);

/**
 * Resets the wanted number to the last number that was reached. Parameters: service, rollout, number that was given up.
 */
export const giveUpScaling = statement<{ service_id: string }>(
  'give_up_scaling',
  `update service_runtime t set instances = settled_instances
    where t.service_id = $1 and t.rollout = $2 and t.instances = $3 and t.desired = 'RUNNING' and ${isFree('t')} returning t.service_id`,
);

export const insertScaling = statement(
  'insert_scaling',
  `insert into service_scaling (service_id, from_instances, to_instances, reason) values ($1, $2, $3, $4)`,
);

export interface ScalingRow {
  readonly at: string;
  readonly from_instances: number;
  readonly to_instances: number;
  readonly reason: string;
}

/** Parameters: service, age limit in minutes. Newest first. */
export const readScalings = statement<ScalingRow>(
  'read_scalings',
  `select at, from_instances, to_instances, reason from service_scaling
    where service_id = $1 and at > clock_timestamp() - make_interval(mins => $2) order by id desc limit 100`,
);

export const trimScalings = statement(
  'trim_scalings',
  `delete from service_scaling where at < clock_timestamp() - interval '1 day'`,
);
