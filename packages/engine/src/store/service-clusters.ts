import { statement } from '@davit/db';
import { fenced } from './journal.ts';

export interface ServiceClusterRow {
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
export const noteServiceCluster = statement(
  'note_place',
  `with held as (select pg_advisory_xact_lock_shared(${lockName('$5', '$4')}))
   insert into service_place (service_id, driver, environment_id, keeps)
   select $3::uuid, $4::text, $5::uuid, $6::boolean from held where ${fenced}
   on conflict (service_id, driver) do update set keeps = service_place.keeps or excluded.keeps`,
);

/**
 * Locks an environment on a cluster until the end of the transaction: nobody else can start or remove anything of the
 * environment there. Parameters: environment, driver.
 */
export const lockServiceClusters = statement('lock_places', `select pg_advisory_xact_lock(${lockName('$1', '$2')})`);

/** Parameter: service. */
export const clustersOfService = statement<ServiceClusterRow>(
  'places_of',
  `select ${columns} from service_place p where p.service_id = $1 order by p.driver`,
);

// Places of services that now run on another cluster and are not being deployed. Places with volumes are kept.
const left = `service_place p join service_runtime t on t.service_id = p.service_id and t.driver <> p.driver
    where not p.keeps and not exists (select from deployment d where d.environment_id = p.environment_id and d.status = 'RUNNING')`;

/** Returns what must be removed from a cluster. Parameter: driver. */
export const clustersToLeave = statement<ServiceClusterRow>(
  'places_to_leave',
  `select ${columns} from ${left} and p.driver = $1
    order by p.environment_id, p.service_id limit 100`,
);

/** Returns whether the objects of a service on a cluster must still be removed. Parameters: service, driver. */
export const isToLeave = statement<{ readonly leaves: boolean }>(
  'is_place_to_leave',
  `select exists (select from ${left} and p.service_id = $1 and p.driver = $2) as leaves`,
);

/** Returns whether other services of the environment are on the cluster. Parameters: environment, driver, service. */
export const othersAt = statement<{ readonly others: boolean }>(
  'others_at_place',
  `select exists (select from service_place where environment_id = $1 and driver = $2 and service_id <> $3) as others`,
);

/** Parameters: service, driver. */
export const forgetServiceCluster = statement('forget_place', 'delete from service_place where service_id = $1 and driver = $2');
