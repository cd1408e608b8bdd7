import { batchedStatement, creationEvent, markOf, statement } from '@davit/db';
import type { ChartDetails, RegistryDetails, ServiceFacts, ServiceRow } from './rows.ts';

const recordColumns = `s.id, s.organization_id, s.environment_id, s.type, s.name, s.spec, s.created_at, s.updated_at,
  s.driver, g.name as git_token_name,
  case when cr.id is not null then jsonb_build_object('id', cr.id, 'name', cr.name, 'url', cr.url, 'kind', cr.kind) end as registry,
  case when s.type = 'HELM' then jsonb_build_object(
    'repository', (select jsonb_build_object('id', hr.id, 'name', hr.name, 'url', hr.url) from helm_repository hr
                    where hr.id = (s.spec #>> '{source,helm_repository,repository}')::uuid),
    'values_token_name', (select vg.name from git_token vg
                           where vg.id = (s.spec #>> '{values_override,file,git,git_repository,git_token_id}')::uuid)) end as chart,
  case when t.desired <> 'NONE' then t.commit end as deployed_commit`;

const recordTables = `service s
  left join git_token g on g.id = (s.spec -> 'git_repository' ->> 'git_token_id')::uuid and g.organization_id = s.organization_id
  left join container_registry cr on cr.id = (s.spec ->> 'registry_id')::uuid
  left join service_runtime t on t.service_id = s.id`;

/** `environment`: SQL for the id of the environment of the services. */
const factsOf = (
  environment: string,
): string => `${recordColumns}, s.project_id, s.is_skipped, s.deleting, s.stage_id, st.name as stage_name, st.position as stage_position,
  p.created_at as project_created_at, e.name as environment_name, e.mode as environment_mode, e.created_at as environment_created_at,
  e.deleting as environment_deleting, e.cluster_id, c.cloud_provider, c.region,
  array(select d.host from custom_domain d where d.service_id = s.id and d.proven_at is not null order by d.host) as domains,
  (select databases_of(${environment})) as databases`;
const factsColumns = factsOf('s.environment_id');

const factsTables = `${recordTables}
  join environment e on e.id = s.environment_id
  join cluster c on c.id = e.cluster_id
  join project p on p.id = s.project_id
  join deployment_stage st on st.id = s.stage_id`;

/** Batched, because reads of one record are the most frequent requests. */
export const readService = batchedStatement<ServiceRow>(
  'read_service',
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
  'read_services',
  `select ${recordColumns} from ${recordTables}
    where s.environment_id = $1 and ($2::text is null or s.type = $2) order by s.created_at, s.id`,
);

/** Parameters: id, type or null for any, organization of the caller. */
export const readFacts = statement<ServiceFacts>(
  'read_service_facts',
  `select ${factsColumns} from ${factsTables}
    where s.id = $1 and ($2::text is null or s.type = $2) and ($3::uuid is null or s.organization_id = $3)`,
);

/**
 * Finds a service that the caller may see, without the columns that only a release needs. Parameters as for
 * `readFacts`.
 */
export const findService = statement<{ id: string }>(
  'find_service',
  `select id from service where id = $1 and ($2::text is null or type = $2) and ($3::uuid is null or organization_id = $3)`,
);

/** Returns the services in the order of deployment. The databases are read once for all services. */
export const readEnvironmentFacts = statement<ServiceFacts>(
  'read_environment_service_facts',
  `select ${factsOf('$1')} from ${factsTables} where s.environment_id = $1 order by st.position, s.created_at, s.id`,
);

/**
 * Returns the services in the order of deployment, and locks them for a request of the whole environment: none of them
 * may be deleted before the request is written.
 */
export const shareEnvironmentFacts = statement<ServiceFacts>(
  'share_environment_service_facts',
  `select ${factsColumns} from ${factsTables} where s.environment_id = $1 order by st.position, s.created_at, s.id for share of s`,
);

/**
 * Returns SQL for the mark of every row that `currentReleases` reads for the services of an environment. Of what runs,
 * only the deployed commits count: the rest changes often and is not part of a release.
 */
const markOfReleases = (environment: string): string => {
  const ofOrganization = ['git_token', 'container_registry', 'helm_repository', 'annotation_group', 'label_group'].map(
    (table) =>
      `(select sum(${markOf('o')}) from ${table} o
         where o.organization_id = (select organization_id from environment where id = ${environment}))`,
  );
  return `with own as materialized (select array(select id from service where environment_id = ${environment}) as ids)
   select concat_ws(' ',
     (select sum(${markOf('s')}) from service s where s.environment_id = ${environment}),
     (select ${markOf('e')}::text || ${markOf('p')} || ${markOf('c')}
        from environment e join project p on p.id = e.project_id join cluster c on c.id = e.cluster_id where e.id = ${environment}),
     (select sum(${markOf('st')}) from deployment_stage st where st.environment_id = ${environment}),
     (select sum(hashtextextended(concat_ws(' ', t.service_id, t.desired = 'NONE', t.commit), 0)) from service_runtime t
       where t.environment_id = ${environment}),
     (select sum(${markOf('d')}) from own, custom_domain d where d.service_id = any (own.ids)),
     (select sum(${markOf('v')} + coalesce(${markOf('sv')}, 0)::numeric) from own, variable v
        left join secret_value sv on sv.id = v.secret_value_id
       where coalesce(v.service_id, v.environment_id, v.project_id) = any (
         own.ids || ${environment} || array(select project_id from environment where id = ${environment}))),
     ${ofOrganization.join(`,
     `)}) as mark`;
};

export const releasesMark = statement<{ mark: string }>('read_mark_of_releases', markOfReleases('$1::uuid'));

/** Returns the same marks of many environments. Parameter: their ids. */
export const releasesMarks = statement<{ id: string; mark: string }>(
  'read_marks_of_releases',
  `select asked.id, found.mark from unnest($1::uuid[]) as asked(id) cross join lateral (${markOfReleases('asked.id')}) found`,
);

/**
 * Parameters: service, type, organization of the caller. Actions lock in this order: first the environment, then its
 * services.
 */
export const findEnvironmentOfService = statement<{ environment_id: string }>(
  'find_environment_of_service',
  `select environment_id from service where id = $1 and type = $2 and ($3::uuid is null or organization_id = $3)`,
);

/** Locks a service that is changed or deployed. */
export const lockFacts = statement<ServiceFacts>(
  'lock_service_facts',
  `select ${factsColumns} from ${factsTables} where s.id = $1 for update of s`,
);

/** Parameters: environment, ids. Returns and locks the services in the order of deployment. */
export const lockSelectedFacts = statement<ServiceFacts>(
  'lock_selected_service_facts',
  `select ${factsColumns} from ${factsTables} where s.environment_id = $1 and s.id = any ($2::uuid[])
    order by st.position, s.created_at, s.id for update of s`,
);

/** Locks a service to which a part is added: other transactions may add parts too, and none may delete the service. */
export const shareFacts = statement<ServiceFacts>(
  'share_service_facts',
  `select ${factsColumns} from ${factsTables} where s.id = $1 for share of s`,
);

export interface EnvironmentRow {
  readonly id: string;
  readonly organization_id: string;
  readonly auto_preview: boolean;
  readonly driver: string;
}

export const readEnvironment = batchedStatement<EnvironmentRow>(
  'read_environment_of_services',
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
  'insert_service',
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
  'update_service',
  `update service set name = $2, spec = $3::jsonb, deleting = false, updated_at = clock_timestamp() where id = $1 returning updated_at`,
);

export const setDeleting = statement('set_service_deleting', `update service set deleting = $2 where id = $1 and deleting <> $2`);

export const deleteService = statement('delete_service', `delete from service where id = $1`);

export const readGitToken = statement<{ name: string }>(
  'read_git_token_of_service',
  `select name from git_token where id = $1 and organization_id = $2`,
);

/** Parameters: id, organization. Locks the registry until the transaction ends, which must write the reference. */
export const shareRegistry = statement<RegistryDetails>(
  'share_registry_of_service',
  `select id, name, url, kind from container_registry where id = $1 and organization_id = $2 for key share`,
);

/** Parameters: id, organization. Locks the repository until the transaction ends, which must write the reference. */
export const shareHelmRepository = statement<NonNullable<ChartDetails['repository']>>(
  'share_helm_repository_of_service',
  `select id, name, url from helm_repository where id = $1 and organization_id = $2 for key share`,
);

/** Parameters: release, service. Returns a custom domain of the release that belongs to another service now. */
export const domainOfAnother = statement<{ domain: string }>(
  'domain_of_another_service',
  `select d.domain from custom_domain d, release r
    where r.id = $1 and d.service_id <> $2
      and d.proven_at is not null
      and jsonb_path_exists(r.config, '$.ports[*].customHosts[*] ? (@ == $host)', jsonb_build_object('host', d.host))
    limit 1`,
);

export const readRelease = statement<{ id: string }>(
  'read_release_of_service',
  `select id from release where id = $1 and service_id = $2`,
);

/** Parameters: service, transports, ports that the service keeps. */
export const releaseHostPorts = statement(
  'release_host_ports',
  `delete from host_port h where h.service_id = $1
      and not exists (select 1 from unnest($2::text[], $3::integer[]) as k(transport, port) where k.transport = h.transport and k.port = h.port)`,
);

/**
 * Parameters: driver, service, transports, ports. Sorted, so that two services that want the same ports wait instead of
 * deadlocking.
 */
export const claimHostPorts = statement(
  'claim_host_ports',
  `insert into host_port (driver, transport, port, service_id)
   select $1, k.transport, k.port, $2::uuid from unnest($3::text[], $4::integer[]) as k(transport, port) order by k.transport, k.port
   on conflict do nothing`,
);

export interface HostPortRow {
  readonly transport: string;
  readonly port: number;
  readonly service_name: string;
  readonly organization_id: string;
}

/** Parameters: driver, service, transports, ports. Returns the ports that other services have. */
export const readForeignHostPorts = statement<HostPortRow>(
  'read_foreign_host_ports',
  `select h.transport, h.port, s.name as service_name, s.organization_id
     from host_port h join service s on s.id = h.service_id
     join unnest($3::text[], $4::integer[]) as k(transport, port) on k.transport = h.transport and k.port = h.port
    where h.driver = $1 and h.service_id <> $2 order by h.port, h.transport`,
);

/**
 * Parameters: id, environment, stage, skipped, type, name, spec, driver. Inserts a copy of a service into another
 * environment.
 */
export const insertClone = statement(
  'insert_service_clone',
  `insert into service (id, organization_id, project_id, environment_id, stage_id, stage_entry_id, is_skipped, type, name, spec, driver)
   select $1, organization_id, project_id, id, $3, gen_random_uuid(), $4, $5, $6, $7::jsonb, $8 from environment where id = $2`,
);

/** Parameters: environment, stage and its name, name of the default stage of the type. Returns the stage for a copy. */
export const stageForClone = statement<{ id: string }>(
  'stage_for_service_clone',
  `select id from deployment_stage where environment_id = $1
    order by id = $2 desc, lower(name) = lower($3) desc, lower(name) = lower($4) desc, position desc limit 1 for key share`,
);

/**
 * Parameters: driver, transport, reserved ports, wanted port. Returns the wanted port or the first free one after it.
 */
export const freeHostPort = statement<{ port: number }>(
  'free_host_port',
  `select n as port from generate_series($4::integer, 65535) as n
    where n <> all ($3::integer[]) and not exists (select 1 from host_port where driver = $1 and transport = $2 and port = n)
    limit 1`,
);

/**
 * Parameters: driver. Serializes searches for a free port of the machine, so that two searches do not find the same
 * port.
 */
export const lockFreePorts = statement(
  'lock_free_host_ports',
  `select pg_advisory_xact_lock(hashtextextended('free host ports ' || $1::text, 0))`,
);

/** Parameters: hosts. Returns the hosts with a valid certificate. */
export const readSecuredHosts = statement<{ host: string }>(
  'service_read_secured_hosts',
  'select host from certificate where host = any($1::text[]) and sealed is not null and not_after > clock_timestamp()',
);

/** A service as an overview names it. */
export interface NamedService {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly icon_uri: string;
  readonly environment_id: string;
}

/** Returns the services of environments, those of one environment in the order of deployment. */
export const namedServices = statement<NamedService>(
  'read_named_services',
  `select s.id, s.name, s.type, coalesce(s.spec->>'icon_uri', '') as icon_uri, s.environment_id
     from service s join deployment_stage st on st.id = s.stage_id
    where s.environment_id = any ($1::uuid[]) order by st.position, s.created_at, s.id`,
);
