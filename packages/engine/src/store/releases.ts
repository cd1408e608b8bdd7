import { statement } from '@davit/db';
import type { ReleaseCommit, ReleaseConfig } from '../model.ts';

export interface ReleaseRow {
  readonly id: string;
  readonly config: ReleaseConfig;
  readonly commit: ReleaseCommit | null;
  readonly image_id: string | null;
  readonly created_by: string;
  readonly created_at: string;
}

const columns = 'r.id, r.config, r.commit, r.image_id, r.created_by, r.created_at';

/** Parameters: service, ids of releases. Releases of other services are not returned. */
export const releasesOfService = statement<ReleaseRow>(
  'releases_of_service',
  `select ${columns} from release r where r.service_id = $1 and r.id = any ($2::uuid[])`,
);

/**
 * Returns the release with which the service worked last. Parameters: service, and a release; deployments since the
 * first one of this release do not count. null: all deployments count. A deployment of a Terraform configuration that
 * only planned counts as well: its settings were accepted.
 */
export const lastWorking = statement<ReleaseRow & { worked_at: string }>(
  'last_working_release',
  `select ${columns}, s.finished_at as worked_at
     from deployment_service s join release r on r.id = s.release_id
    where s.service_id = $1 and s.phase = 'SUCCEEDED' and s.finished_at is not null
      and ($2::uuid is null or s.created_at < (
        select min(f.created_at) from deployment_service f where f.service_id = $1 and f.release_id = $2))
    order by s.created_at desc limit 1`,
);

/** Returns the release that is deployed. */
export const deployedRelease = statement<ReleaseRow>(
  'deployed_release',
  `select ${columns} from service_runtime t join release r on r.id = t.release_id where t.service_id = $1 and t.config_hash is not null`,
);

/**
 * Returns the paths of all values that contained a secret in any release of a service, as `fieldsOf` names them. It
 * reads each release: some 5 ms for 100 releases of 50 variables, 35 ms for 1,000.
 */
export const secretPaths = statement<{ path: string }>(
  'secret_paths_of_releases',
  `select distinct named.path from release r cross join lateral (
     select 'variables.' || (e ->> 'name') as path
       from jsonb_path_query(r.config, '$.environment[*] ? (exists(@.parts[*].secret))') e
     union all
     select 'files.' || (e ->> 'path') from jsonb_path_query(r.config, '$.files[*] ? (exists(@.parts[*].secret))') e
     union all
     select 'source.variables.' || (e ->> 'name')
       from jsonb_path_query(r.config, '$.source.variables[*] ? (exists(@.parts[*].secret))') e) named
    where r.service_id = $1`,
);

/** Parameters: service, paths. Returns the plain values that these paths had in any release of the service. */
export const plainValues = statement<{ value: string }>(
  'plain_values_of_releases',
  `select distinct plain.value from release r cross join lateral (
     select 'variables.' || (e ->> 'name') as path, e -> 'parts' as parts
       from jsonb_path_query(r.config, '$.environment[*] ? (!exists(@.parts[*].secret))') e
     union all
     select 'files.' || (e ->> 'path'), e -> 'parts' from jsonb_path_query(r.config, '$.files[*] ? (!exists(@.parts[*].secret))') e
     union all
     select 'source.variables.' || (e ->> 'name'), e -> 'parts'
       from jsonb_path_query(r.config, '$.source.variables[*] ? (!exists(@.parts[*].secret))') e) named
    cross join lateral (
     select coalesce(string_agg(part.text, '' order by part.at), '') as value
       from jsonb_array_elements_text(named.parts) with ordinality as part (text, at)) plain
    where r.service_id = $1 and named.path = any ($2::text[])`,
);

/** Parameter: ids of releases. */
export const portsOfReleases = statement<{ id: string; ports: ReleaseConfig['ports'] }>(
  'ports_of_releases',
  `select id, config -> 'ports' as ports from release where id = any ($1::uuid[])`,
);
