import { statement } from '@davit/db';
import { fenced } from './journal.ts';

export interface PlaceRow {
  readonly service_id: string;
  readonly driver: string;
  readonly environment_id: string;
  /** There are volumes of it. */
  readonly keeps: boolean;
}

const columns = 'p.service_id, p.driver, p.environment_id, p.keeps';
const lockName = (environment: string, driver: string): string =>
  `hashtextextended('davit place ' || ${environment}::text || ' ' || ${driver}::text, 0)`;

/**
 * Deployment, fence, service, driver, environment, whether it has volumes: something of it may be there, before anything is. Waits for
 * whoever removes what an environment has there, so that the two do not meet.
 */
export const notePlace = statement(
  'notePlace',
  `WITH held AS (SELECT pg_advisory_xact_lock_shared(${lockName('$5', '$4')}))
   INSERT INTO service_place (service_id, driver, environment_id, keeps)
   SELECT $3::uuid, $4::text, $5::uuid, $6::boolean FROM held WHERE ${fenced}
   ON CONFLICT (service_id, driver) DO UPDATE SET keeps = service_place.keeps OR excluded.keeps`,
);

/** Environment, driver. To the end of the transaction nothing of the environment is started there, nor removed by others. */
export const lockPlaces = statement('lockPlaces', `SELECT pg_advisory_xact_lock(${lockName('$1', '$2')})`);

/** Service. */
export const placesOf = statement<PlaceRow>(
  'placesOf',
  `SELECT ${columns} FROM service_place p WHERE p.service_id = $1 ORDER BY p.driver`,
);

// Services that run somewhere else, and that nobody works on now. Where volumes are, they stay.
const left = `service_place p JOIN service_runtime t ON t.service_id = p.service_id AND t.driver <> p.driver
    WHERE NOT p.keeps AND NOT EXISTS (SELECT FROM deployment d WHERE d.environment_id = p.environment_id AND d.status = 'RUNNING')`;

/** Driver: what is to be removed there. */
export const placesToLeave = statement<PlaceRow>(
  'placesToLeave',
  `SELECT ${columns} FROM ${left} AND p.driver = $1
    ORDER BY p.environment_id, p.service_id LIMIT 100`,
);

/** Service, driver: whether that is so still. */
export const isToLeave = statement<{ readonly leaves: boolean }>(
  'isPlaceToLeave',
  `SELECT EXISTS (SELECT FROM ${left} AND p.service_id = $1 AND p.driver = $2) AS leaves`,
);

/** Environment, driver, service: whether others of the environment are there. */
export const othersAt = statement<{ readonly others: boolean }>(
  'othersAtPlace',
  `SELECT EXISTS (SELECT FROM service_place WHERE environment_id = $1 AND driver = $2 AND service_id <> $3) AS others`,
);

/** Service, driver. */
export const forgetPlace = statement('forgetPlace', 'DELETE FROM service_place WHERE service_id = $1 AND driver = $2');
