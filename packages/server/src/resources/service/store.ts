import { batchedStatement, creationEvent, statement } from '@davit/db';
import type { ChartDetails, RegistryDetails, ServiceFacts, ServiceRow } from './rows.ts';

const recordColumns = `s.id, s.organization_id, s.environment_id, s.type, s.name, s.spec, s.created_at, s.updated_at,
  s.driver, g.name AS git_token_name,
  CASE WHEN cr.id IS NOT NULL THEN jsonb_build_object('id', cr.id, 'name', cr.name, 'url', cr.url, 'kind', cr.kind) END AS registry,
  CASE WHEN s.type = 'HELM' THEN jsonb_build_object(
    'repository', (SELECT jsonb_build_object('id', hr.id, 'name', hr.name, 'url', hr.url) FROM helm_repository hr
                    WHERE hr.id = (s.spec #>> '{source,helm_repository,repository}')::uuid),
    'values_token_name', (SELECT vg.name FROM git_token vg
                           WHERE vg.id = (s.spec #>> '{values_override,file,git,git_repository,git_token_id}')::uuid)) END AS chart,
  CASE WHEN t.desired <> 'NONE' THEN t.commit END AS deployed_commit`;

const recordTables = `service s
  LEFT JOIN git_token g ON g.id = (s.spec -> 'git_repository' ->> 'git_token_id')::uuid AND g.organization_id = s.organization_id
  LEFT JOIN container_registry cr ON cr.id = (s.spec ->> 'registry_id')::uuid
  LEFT JOIN service_runtime t ON t.service_id = s.id`;

const factsColumns = `${recordColumns}, s.project_id, s.is_skipped, s.deleting, s.stage_id, st.name AS stage_name, st.position AS stage_position,
  p.created_at AS project_created_at, e.name AS environment_name, e.mode AS environment_mode, e.created_at AS environment_created_at,
  e.deleting AS environment_deleting, e.cluster_id, c.cloud_provider, c.region,
  ARRAY(SELECT d.host FROM custom_domain d WHERE d.service_id = s.id AND d.proven_at IS NOT NULL ORDER BY d.host) AS domains,
  databases_of(s.environment_id) AS databases`;

const factsTables = `${recordTables}
  JOIN environment e ON e.id = s.environment_id
  JOIN cluster c ON c.id = e.cluster_id
  JOIN project p ON p.id = s.project_id
  JOIN deployment_stage st ON st.id = s.stage_id`;

/** Batched, because reads of one record are the most frequent requests. */
export const readService = batchedStatement<ServiceRow>(
  'readService',
  { id: 'uuid', type: 'text', caller: 'uuid' },
  // `offset 0` forces one lookup per call. For a table that the planner considers small, it would otherwise read the
  // whole table.
  (asked) => `with ${asked}
    select asked.call, found.* from asked cross join lateral (
      select ${recordColumns} from ${recordTables}
       where s.id = asked.id and s.type = asked.type and (asked.caller is null or s.organization_id = asked.caller) offset 0) as found`,
);

/** Parameters: environment, type or null for all. Oldest first. */
export const readServices = statement<ServiceRow>(
  'readServices',
  `SELECT ${recordColumns} FROM ${recordTables}
    WHERE s.environment_id = $1 AND ($2::text IS NULL OR s.type = $2) ORDER BY s.created_at, s.id`,
);

/** Parameters: id, type or null for any, organization of the caller. */
export const readFacts = statement<ServiceFacts>(
  'readServiceFacts',
  `SELECT ${factsColumns} FROM ${factsTables}
    WHERE s.id = $1 AND ($2::text IS NULL OR s.type = $2) AND ($3::uuid IS NULL OR s.organization_id = $3)`,
);

/**
 * Finds a service that the caller may see, without the columns that only a release needs. Parameters as for
 * `readFacts`.
 */
export const findService = statement<{ id: string }>(
  'findService',
  `SELECT id FROM service WHERE id = $1 AND ($2::text IS NULL OR type = $2) AND ($3::uuid IS NULL OR organization_id = $3)`,
);

/** Returns the services in the order of deployment. */
export const readEnvironmentFacts = statement<ServiceFacts>(
  'readEnvironmentServiceFacts',
  `SELECT ${factsColumns} FROM ${factsTables} WHERE s.environment_id = $1 ORDER BY st.position, s.created_at, s.id`,
);

/**
 * Returns the services in the order of deployment, and locks them for a request of the whole environment: none of them
 * may be deleted before the request is written.
 */
export const shareEnvironmentFacts = statement<ServiceFacts>(
  'shareEnvironmentServiceFacts',
  `SELECT ${factsColumns} FROM ${factsTables} WHERE s.environment_id = $1 ORDER BY st.position, s.created_at, s.id FOR SHARE OF s`,
);

/**
 * Parameters: service, type, organization of the caller. Actions lock in this order: first the environment, then its
 * services.
 */
export const findEnvironmentOfService = statement<{ environment_id: string }>(
  'findEnvironmentOfService',
  `SELECT environment_id FROM service WHERE id = $1 AND type = $2 AND ($3::uuid IS NULL OR organization_id = $3)`,
);

/** Locks a service that is changed or deployed. */
export const lockFacts = statement<ServiceFacts>(
  'lockServiceFacts',
  `SELECT ${factsColumns} FROM ${factsTables} WHERE s.id = $1 FOR UPDATE OF s`,
);

/** Parameters: environment, ids. Returns and locks the services in the order of deployment. */
export const lockSelectedFacts = statement<ServiceFacts>(
  'lockSelectedServiceFacts',
  `SELECT ${factsColumns} FROM ${factsTables} WHERE s.environment_id = $1 AND s.id = ANY ($2::uuid[])
    ORDER BY st.position, s.created_at, s.id FOR UPDATE OF s`,
);

/** Locks a service to which a part is added: other transactions may add parts too, and none may delete the service. */
export const shareFacts = statement<ServiceFacts>(
  'shareServiceFacts',
  `SELECT ${factsColumns} FROM ${factsTables} WHERE s.id = $1 FOR SHARE OF s`,
);

export interface EnvironmentRow {
  readonly id: string;
  readonly organization_id: string;
  readonly auto_preview: boolean;
  readonly driver: string;
}

export const readEnvironment = batchedStatement<EnvironmentRow>(
  'readEnvironmentOfServices',
  { id: 'uuid', caller: 'uuid' },
  (asked) => `with ${asked}
    select asked.call, found.* from asked cross join lateral (
      select e.id, e.organization_id, e.auto_preview, c.driver from environment e join cluster c on c.id = e.cluster_id
       where e.id = asked.id and (asked.caller is null or e.organization_id = asked.caller) offset 0) as found`,
);

export interface InsertedRow {
  readonly created_at: string;
  readonly updated_at: string;
  readonly driver: string;
}

/**
 * Inserts a service into the wanted stage of the environment, or into the last stage if the wanted one was deleted or
 * renamed. Returns no row in these cases:
 *
 * - The environment is deleted, or a deletion of it was requested.
 * - Another transaction has locked the environment.
 * - The name is taken.
 *
 * The foreign keys would take the locks anyway.
 */
export const insertService = batchedStatement<InsertedRow>(
  'insertService',
  { id: 'uuid', environment_id: 'uuid', type: 'text', name: 'text', spec: 'text', stage: 'text', request: 'text' },
  (asked) => `with ${asked}, place as (
     select id, organization_id, project_id, name, (select driver from cluster where cluster.id = environment.cluster_id) as driver
       from environment where id in (select environment_id from asked) and not deleting for key share skip locked
   ), made as (
     insert into service (id, organization_id, project_id, environment_id, stage_id, stage_entry_id, type, name, spec, driver)
     select asked.id, place.organization_id, place.project_id, place.id, stage.id, gen_random_uuid(), asked.type, asked.name,
            asked.spec::jsonb, place.driver
       from asked join place on place.id = asked.environment_id
       join lateral (select id from deployment_stage where environment_id = place.id
                      order by lower(name) = lower(asked.stage) desc, position desc limit 1 for key share) as stage on true
      order by place.id, lower(asked.name)
     on conflict (environment_id, lower(name)) do nothing
     returning *
   ), ${creationEvent({
     from: 'made join asked on asked.id = made.id join place on place.id = made.environment_id join project on project.id = made.project_id',
     organizationId: 'made.organization_id',
     type: 'made.type',
     id: 'made.id',
     name: 'made.name',
     project: ['project.id', 'project.name'],
     environment: ['place.id', 'place.name'],
     after: 'to_jsonb(made)',
   })}
   select asked.call, made.created_at, made.updated_at, made.driver from made join asked on asked.id = made.id`,
);

/** Parameters: id, name, spec. An edit also clears the mark of a failed deletion. */
export const updateService = statement<{ updated_at: string }>(
  'updateService',
  `UPDATE service SET name = $2, spec = $3::jsonb, deleting = false, updated_at = clock_timestamp() WHERE id = $1 RETURNING updated_at`,
);

export const setDeleting = statement('setServiceDeleting', `UPDATE service SET deleting = $2 WHERE id = $1 AND deleting <> $2`);

export const deleteService = statement('deleteService', `DELETE FROM service WHERE id = $1`);

export const readGitToken = statement<{ name: string }>(
  'readGitTokenOfService',
  `SELECT name FROM git_token WHERE id = $1 AND organization_id = $2`,
);

/** Parameters: id, organization. Locks the registry until the transaction ends, which must write the reference. */
export const shareRegistry = statement<RegistryDetails>(
  'shareRegistryOfService',
  `SELECT id, name, url, kind FROM container_registry WHERE id = $1 AND organization_id = $2 FOR KEY SHARE`,
);

/** Parameters: id, organization. Locks the repository until the transaction ends, which must write the reference. */
export const shareHelmRepository = statement<NonNullable<ChartDetails['repository']>>(
  'shareHelmRepositoryOfService',
  `SELECT id, name, url FROM helm_repository WHERE id = $1 AND organization_id = $2 FOR KEY SHARE`,
);

/** Parameters: release, service. Returns a custom domain of the release that belongs to another service now. */
export const domainOfAnother = statement<{ domain: string }>(
  'domainOfAnotherService',
  `SELECT d.domain FROM custom_domain d, release r
    WHERE r.id = $1 AND d.service_id <> $2
      AND d.proven_at IS NOT NULL
      AND jsonb_path_exists(r.config, '$.ports[*].customHosts[*] ? (@ == $host)', jsonb_build_object('host', d.host))
    LIMIT 1`,
);

export const readRelease = statement<{ id: string }>(
  'readReleaseOfService',
  `SELECT id FROM release WHERE id = $1 AND service_id = $2`,
);

/** Parameters: service, transports, ports that the service keeps. */
export const releaseHostPorts = statement(
  'releaseHostPorts',
  `DELETE FROM host_port h WHERE h.service_id = $1
      AND NOT EXISTS (SELECT 1 FROM unnest($2::text[], $3::integer[]) AS k(transport, port) WHERE k.transport = h.transport AND k.port = h.port)`,
);

/**
 * Parameters: driver, service, transports, ports. Sorted, so that two services that want the same ports wait instead of
 * deadlocking.
 */
export const claimHostPorts = statement(
  'claimHostPorts',
  `INSERT INTO host_port (driver, transport, port, service_id)
   SELECT $1, k.transport, k.port, $2::uuid FROM unnest($3::text[], $4::integer[]) AS k(transport, port) ORDER BY k.transport, k.port
   ON CONFLICT DO NOTHING`,
);

export interface HostPortRow {
  readonly transport: string;
  readonly port: number;
  readonly service_name: string;
  readonly organization_id: string;
}

/** Parameters: driver, service, transports, ports. Returns the ports that other services have. */
export const readForeignHostPorts = statement<HostPortRow>(
  'readForeignHostPorts',
  `SELECT h.transport, h.port, s.name AS service_name, s.organization_id
     FROM host_port h JOIN service s ON s.id = h.service_id
     JOIN unnest($3::text[], $4::integer[]) AS k(transport, port) ON k.transport = h.transport AND k.port = h.port
    WHERE h.driver = $1 AND h.service_id <> $2 ORDER BY h.port, h.transport`,
);

/**
 * Parameters: id, environment, stage, skipped, type, name, spec, driver. Inserts a copy of a service into another
 * environment.
 */
export const insertClone = statement(
  'insertServiceClone',
  `INSERT INTO service (id, organization_id, project_id, environment_id, stage_id, stage_entry_id, is_skipped, type, name, spec, driver)
   SELECT $1, organization_id, project_id, id, $3, gen_random_uuid(), $4, $5, $6, $7::jsonb, $8 FROM environment WHERE id = $2`,
);

/** Parameters: environment, stage and its name, name of the default stage of the type. Returns the stage for a copy. */
export const stageForClone = statement<{ id: string }>(
  'stageForServiceClone',
  `SELECT id FROM deployment_stage WHERE environment_id = $1
    ORDER BY id = $2 DESC, lower(name) = lower($3) DESC, lower(name) = lower($4) DESC, position DESC LIMIT 1 FOR KEY SHARE`,
);

/**
 * Parameters: driver, transport, reserved ports, wanted port. Returns the wanted port or the first free one after it.
 */
export const freeHostPort = statement<{ port: number }>(
  'freeHostPort',
  `SELECT n AS port FROM generate_series($4::integer, 65535) AS n
    WHERE n <> ALL ($3::integer[]) AND NOT EXISTS (SELECT 1 FROM host_port WHERE driver = $1 AND transport = $2 AND port = n)
    LIMIT 1`,
);

/**
 * Parameters: driver. Serializes searches for a free port of the machine, so that two searches do not find the same
 * port.
 */
export const lockFreePorts = statement(
  'lockFreeHostPorts',
  `SELECT pg_advisory_xact_lock(hashtextextended('free host ports ' || $1::text, 0))`,
);

/** Parameters: hosts. Returns the hosts with a valid certificate. */
export const readSecuredHosts = statement<{ host: string }>(
  'service_read_secured_hosts',
  'SELECT host FROM certificate WHERE host = ANY($1::text[]) AND sealed IS NOT NULL AND not_after > clock_timestamp()',
);
