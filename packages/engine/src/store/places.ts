import { statement } from '@davit/db';
import { fenced } from './journal.ts';

export interface PlaceRow {
  readonly service_id: string;
  readonly driver: string;
  readonly environment_id: string;
  /** Whether the service has volumes there. */
  readonly keeps: boolean;
}

const columns = 'p.service_id, p.driver, p.environment_id, p.keeps';
const lockName = (environment: string, driver: string): string =>
  `hashtextextended('davit place ' || ${environment}::text || ' ' || ${driver}::text, 0)`;

/**
 * Records that objects of the service may exist on a cluster, before any do. Parameters: deployment, fence, service,
 * driver, environment, whether the service has volumes. Waits for a process that is removing objects of the environment
 * from that cluster.
 */
export const notePlace = statement(
  'notePlace',
  `WITH held AS (SELECT pg_advisory_xact_lock_shared(${lockName('$5', '$4')}))
   INSERT INTO service_place (service_id, driver, environment_id, keeps)
   SELECT $3::uuid, $4::text, $5::uuid, $6::boolean FROM held WHERE ${fenced}
   ON CONFLICT (service_id, driver) DO UPDATE SET keeps = service_place.keeps OR excluded.keeps`,
);

/**
 * Locks an environment on a cluster until the end of the transaction: nobody else can start or remove anything of the
 * environment there. Parameters: environment, driver.
 */
export const lockPlaces = statement('lockPlaces', `SELECT pg_advisory_xact_lock(${lockName('$1', '$2')})`);

/** Parameter: service. */
export const placesOf = statement<PlaceRow>(
  'placesOf',
  `SELECT ${columns} FROM service_place p WHERE p.service_id = $1 ORDER BY p.driver`,
);

// Places of services that now run on another cluster and are not being deployed. Places with volumes are kept.
const left = `service_place p JOIN service_runtime t ON t.service_id = p.service_id AND t.driver <> p.driver
    WHERE NOT p.keeps AND NOT EXISTS (SELECT FROM deployment d WHERE d.environment_id = p.environment_id AND d.status = 'RUNNING')`;

/** Returns what must be removed from a cluster. Parameter: driver. */
export const placesToLeave = statement<PlaceRow>(
  'placesToLeave',
  `SELECT ${columns} FROM ${left} AND p.driver = $1
    ORDER BY p.environment_id, p.service_id LIMIT 100`,
);

/** Returns whether the objects of a service on a cluster must still be removed. Parameters: service, driver. */
export const isToLeave = statement<{ readonly leaves: boolean }>(
  'isPlaceToLeave',
  `SELECT EXISTS (SELECT FROM ${left} AND p.service_id = $1 AND p.driver = $2) AS leaves`,
);

/** Returns whether other services of the environment are on the cluster. Parameters: environment, driver, service. */
export const othersAt = statement<{ readonly others: boolean }>(
  'othersAtPlace',
  `SELECT EXISTS (SELECT FROM service_place WHERE environment_id = $1 AND driver = $2 AND service_id <> $3) AS others`,
);

/** Parameters: service, driver. */
export const forgetPlace = statement('forgetPlace', 'DELETE FROM service_place WHERE service_id = $1 AND driver = $2');
