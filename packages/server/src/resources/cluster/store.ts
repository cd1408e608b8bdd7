import type { Body, CloudProvider, KubernetesMode, operations, ServiceType } from '@davit/contract';
import { statement } from '@davit/db';

type Request = Body<(typeof operations)['createCluster']>;
type Installation = Pick<Request, 'metrics_parameters' | 'infrastructure_charts_parameters' | 'keda'>;

/** Settings of a cluster's nodes, features and installation, as the user requested them. */
export interface ClusterSpec extends Installation {
  readonly min_running_nodes?: number;
  readonly max_running_nodes?: number;
  readonly disk_size?: number;
  readonly disk_iops?: number;
  readonly disk_throughput?: number;
  readonly instance_type?: string | null;
  readonly ssh_keys?: readonly string[];
  readonly features?: readonly {
    readonly id: string;
    readonly value: string | boolean | Readonly<Record<string, unknown>>;
  }[];
  /** Ids of label groups. */
  readonly labels_groups?: readonly string[];
}

export interface ClusterRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly organization_id: string;
  readonly name: string;
  readonly description: string;
  readonly region: string;
  readonly cloud_provider: CloudProvider;
  readonly kubernetes: KubernetesMode;
  readonly driver: string;
  readonly is_default: boolean;
  readonly is_demo: boolean;
  readonly production: boolean;
  readonly spec: ClusterSpec;
  readonly credentials_id: string | null;
  /** Whether there is a kubeconfig, or Davit uses the service account of its own pods. */
  readonly has_access: boolean;
  readonly uses_service_account: boolean;
  readonly deployed_at: string | null;
  /** Null if the cluster is not locked. An expired lock counts as no lock. */
  readonly lock_reason: string | null;
  readonly lock_ttl_in_days: number | null;
  readonly lock_owner_name: string | null;
  readonly locked_at: string | null;
  readonly lock_expires_at: string | null;
}

export interface LockRow {
  readonly cluster_id: string;
  readonly reason: string;
  readonly ttl_in_days: number | null;
  readonly owner_name: string;
  readonly locked_at: string;
}

const holds = '(expires_at is null or expires_at > clock_timestamp())';
const ofCluster = (c: string): string => `${c}.id, ${c}.created_at, ${c}.updated_at, ${c}.organization_id, ${c}.name,
  ${c}.description, ${c}.region, ${c}.cloud_provider, ${c}.kubernetes, ${c}.driver, ${c}.is_default, ${c}.is_demo, ${c}.production,
  ${c}.spec, ${c}.credentials_id, ${c}.uses_service_account,
  ${c}.kubeconfig_sealed is not null or ${c}.uses_service_account as has_access, ${c}.deployed_at`;
const ofLock = `lock.reason as lock_reason, lock.ttl_in_days as lock_ttl_in_days, lock.owner_name as lock_owner_name,
  lock.locked_at, lock.expires_at as lock_expires_at`;
const withLock = (c: string): string => `left join cluster_lock as lock on lock.cluster_id = ${c}.id and ${holds}`;
const selected = `select ${ofCluster('cluster')}, ${ofLock} from cluster ${withLock('cluster')}`;
const visible = 'cluster.organization_id = $1 and ($2::uuid is null or cluster.organization_id = $2)';

export const clusterList = statement<ClusterRow>(
  'cluster_list',
  `${selected} where ${visible} order by cluster.created_at, cluster.id`,
);

export const clusterRead = statement<ClusterRow>('cluster_read', `${selected} where ${visible} and cluster.id = $3`);

/** Locks a cluster for a change. Changes are serialized, also with a lock that a user sets at the same moment. */
export const clusterHold = statement<{ readonly id: string }>(
  'cluster_hold',
  `select cluster.id from cluster where ${visible} and cluster.id = $3 for no key update`,
);

/** Returns the organization of a cluster, for paths that do not name it. */
export const clusterOrganization = statement<{ readonly organization_id: string }>(
  'cluster_organization',
  'select organization_id from cluster where id = $1 and ($2::uuid is null or organization_id = $2)',
);

export const clusterCreate = statement<ClusterRow>(
  'cluster_create',
  `with made as (
     insert into cluster (id, organization_id, name, description, region, cloud_provider, kubernetes, driver, production, spec,
                          credentials_id)
     select $3::uuid, organization.id, $4, $5, $6, $7, $8, ($3::uuid)::text, $9, $10, $11 from organization
      where organization.id = $1 and ($2::uuid is null or organization.id = $2)
     returning *
   )
   select ${ofCluster('made')}, ${ofLock} from made ${withLock('made')}`,
);

/** Sets everything that a request may change in one statement. */
export const clusterEdit = statement<ClusterRow>(
  'cluster_edit',
  `with edited as (
     update cluster set name = $2, description = $3, region = $4, production = $5, spec = $6, credentials_id = $7,
            updated_at = clock_timestamp()
      where id = $1
     returning *
   )
   select ${ofCluster('edited')}, ${ofLock} from edited ${withLock('edited')}`,
);

export const clusterDelete = statement('cluster_delete', 'delete from cluster where id = $1');

export const clusterEnvironmentNames = statement<{ readonly name: string }>(
  'cluster_environment_names',
  `select project.name || '/' || environment.name as name
     from environment join project on project.id = environment.project_id
    where environment.cluster_id = $1 order by environment.created_at, environment.id`,
);

/** Returns environments that were moved to another cluster and left something on this one. */
export const clusterLeftovers = statement<{ readonly name: string }>(
  'cluster_leftovers',
  `select distinct project.name || '/' || environment.name as name
     from service_place place
     join environment on environment.id = place.environment_id join project on project.id = environment.project_id
    where place.driver = $1 and environment.cluster_id::text <> $1 order by name`,
);
export const clusterForget = statement('cluster_forget', 'delete from service_place where driver = $1');

export interface ClusterEnvironmentRow {
  readonly environment_id: string;
  readonly environment_name: string;
  readonly project_id: string;
  readonly project_name: string;
  readonly services: { readonly id: string; readonly name: string; readonly type: ServiceType }[];
}

export const clusterEnvironments = statement<ClusterEnvironmentRow>(
  'cluster_environments',
  `select environment.id as environment_id, environment.name as environment_name, project.id as project_id,
          project.name as project_name,
          (select coalesce(jsonb_agg(jsonb_build_object('id', service.id, 'name', service.name, 'type', service.type)
                                     order by service.created_at, service.id), '[]')
             from service where service.environment_id = environment.id) as services
     from environment join project on project.id = environment.project_id
    where environment.cluster_id = $1 order by environment.created_at, environment.id`,
);

/**
 * Sets the lock. Returns no row if another lock is active. A single statement does both, because two callers may try at
 * once.
 */
export const lockTake = statement<LockRow>(
  'cluster_lock_take',
  `insert into cluster_lock as lock (cluster_id, reason, ttl_in_days, owner_name, locked_at, expires_at)
   select $1, $2, $3::integer, $4, moment, moment + make_interval(hours => 24 * $3::integer) from clock_timestamp() as moment
   on conflict (cluster_id) do update
      set reason = excluded.reason, ttl_in_days = excluded.ttl_in_days, owner_name = excluded.owner_name,
          locked_at = excluded.locked_at, expires_at = excluded.expires_at
    where lock.expires_at <= clock_timestamp()
   returning cluster_id, reason, ttl_in_days, owner_name, locked_at`,
);

export const lockRelease = statement('cluster_lock_release', 'delete from cluster_lock where cluster_id = $1');

export const lockList = statement<LockRow>(
  'cluster_lock_list',
  `select lock.cluster_id, lock.reason, lock.ttl_in_days, lock.owner_name, lock.locked_at
     from cluster join cluster_lock as lock on lock.cluster_id = cluster.id
    where ${visible} and ${holds} order by lock.locked_at, lock.cluster_id`,
);

export interface RouteRow {
  readonly destination: string;
  readonly target: string;
  readonly description: string;
}

export const routesRead = statement<{ readonly routes: RouteRow[] }>(
  'cluster_routes_read',
  'select routes from cluster where id = $1',
);
export const routesWrite = statement<{ readonly routes: RouteRow[] }>(
  'cluster_routes_write',
  'update cluster set routes = $2, updated_at = clock_timestamp() where id = $1 returning routes',
);

export const kubeconfigRead = statement<{ readonly kubeconfig_sealed: Buffer | null }>(
  'cluster_kubeconfig_read',
  'select kubeconfig_sealed from cluster where id = $1',
);
export const kubeconfigWrite = statement(
  'cluster_kubeconfig_write',
  'update cluster set kubeconfig_sealed = $2, updated_at = clock_timestamp() where id = $1',
);

/** Returns clusters that Davit has access to. */
export const clusterAccess = statement<{
  readonly id: string;
  readonly name: string;
  /** Null: Davit uses the service account of its own pods. */
  readonly kubeconfig_sealed: Buffer | null;
  readonly version: string;
}>(
  'cluster_access',
  `select id, name, case when not uses_service_account then kubeconfig_sealed end as kubeconfig_sealed,
          case when uses_service_account then 'service account' else md5(kubeconfig_sealed) end as version
     from cluster
    where (kubeconfig_sealed is not null or uses_service_account) and kubernetes <> 'MANAGED' and driver = id::text
    order by created_at, id`,
);

/**
 * Parameter `$1`: ids of the clusters on which Davit uses the service account of its own pods. All other clusters do
 * not use it. Returns the clusters that have changed.
 */
export const serviceAccountsWrite = statement<{ readonly id: string; readonly uses_service_account: boolean }>(
  'cluster_service_accounts_write',
  `update cluster set uses_service_account = id = any($1::uuid[]), updated_at = clock_timestamp()
    where uses_service_account <> (id = any($1::uuid[])) and (uses_service_account or kubernetes <> 'MANAGED' and driver = id::text)
   returning id, uses_service_account`,
);

/**
 * Parameters: cluster, identity. Claims the identity for the cluster if no cluster has it. The identity that the record
 * had before, with other credentials, is deleted.
 */
export const identityClaim = statement(
  'cluster_identity_claim',
  `with claimed as (
     insert into cluster_identity (cluster_id, identity) select id, $2 from cluster where id = $1
     on conflict (identity) do nothing returning cluster_id)
   delete from cluster_identity where cluster_id in (select cluster_id from claimed) and identity <> $2`,
);

/**
 * Parameters: cluster, identity. Returns the cluster that has the identity. `is_neighbour`: whether it belongs to the
 * organization of the given cluster.
 */
export const identityHolder = statement<{ readonly id: string; readonly name: string; readonly is_neighbour: boolean }>(
  'cluster_identity_holder',
  `select holder.id, holder.name,
          holder.organization_id = (select organization_id from cluster where id = $1) as is_neighbour
     from cluster_identity join cluster holder on holder.id = cluster_identity.cluster_id where cluster_identity.identity = $2`,
);

export const clusterDeployed = statement<{ readonly deployed_at: string }>(
  'cluster_deployed',
  'update cluster set deployed_at = clock_timestamp() where id = $1 returning deployed_at',
);

export interface LogRow {
  readonly step: 'Created' | 'CreateError';
  readonly message: string;
  readonly error: { readonly tag: string; readonly hint: string } | null;
  readonly at: string;
}

/** Adds a line to the log. Parameter `$5`: number of the newest lines that are kept. */
export const logAdd = statement(
  'cluster_log_add',
  `with added as (
     insert into cluster_log (cluster_id, step, message, error) values ($1, $2, $3, $4) returning id
   )
   delete from cluster_log
    where cluster_id = $1
      and id <= (select id from cluster_log where cluster_id = $1 order by id desc offset $5::integer - 1 limit 1)`,
);

export const logList = statement<LogRow>(
  'cluster_log_list',
  'select step, message, error, at from cluster_log where cluster_id = $1 order by id',
);
