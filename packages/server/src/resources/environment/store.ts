import type { EnvironmentMode } from '@davit/contract';
import { statement } from '@davit/db';

export interface EnvironmentRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly name: string;
  readonly organization_id: string;
  readonly project_id: string;
  readonly last_updated_by: string | null;
  readonly mode: EnvironmentMode;
  readonly auto_preview: boolean;
  readonly cluster_id: string;
  readonly cluster_name: string;
  readonly cloud_provider_name: string;
}

const ofEnvironment = (e: string): string =>
  `${e}.id, ${e}.created_at, ${e}.updated_at, ${e}.name, ${e}.organization_id, ${e}.project_id, ${e}.last_updated_by, ${e}.mode,
   ${e}.auto_preview, ${e}.cluster_id`;
const ofCluster = 'cluster.name as cluster_name, cluster.cloud_provider as cloud_provider_name';

export const environmentRead = statement<EnvironmentRow>(
  'environment_read',
  `select ${ofEnvironment('environment')}, ${ofCluster} from environment join cluster on cluster.id = environment.cluster_id
    where environment.id = $1 and ($2::uuid is null or environment.organization_id = $2)`,
);

export const environmentList = statement<EnvironmentRow>(
  'environment_list',
  `select ${ofEnvironment('environment')}, ${ofCluster} from environment join cluster on cluster.id = environment.cluster_id
    where environment.project_id = $1 and ($2::uuid is null or environment.organization_id = $2)
    order by environment.created_at, environment.id`,
);

/**
 * Returns the cluster for a new environment of the project: the named cluster of its organization, or the default
 * cluster.
 */
export const clusterForProject = statement<{ cluster_id: string | null }>(
  'environment_cluster',
  `select (select cluster.id from cluster
            where cluster.organization_id = project.organization_id
              and case when $3::uuid is null then cluster.is_default else cluster.id = $3 end) as cluster_id
     from project where project.id = $1 and ($2::uuid is null or project.organization_id = $2)`,
);

/** Gives a new environment the first rule of its project that matches mode, cluster and name. */
const giveProjectRule = (made: string): string =>
  `insert into environment_rule (environment_id, auto_stop, timezone, start_time, stop_time, weekdays)
   select ${made}.id, fit.auto_stop, fit.timezone, fit.start_time, fit.stop_time, fit.weekdays
     from ${made} cross join lateral (
       select * from project_rule as rule
        where rule.project_id = ${made}.project_id and rule.mode = ${made}.mode and rule.cluster_id = ${made}.cluster_id
          and lower(${made}.name) like rule.name_pattern
        order by rule.position limit 1) as fit`;

/**
 * Creates the environment and its stages, because neither exists without the other. Also creates its deployment rule if
 * a rule of the project matches. Parameter `$8`: names of the stages, in their order.
 */
export const environmentCreate = statement<EnvironmentRow>(
  'environment_create',
  `with made as (
     insert into environment (id, organization_id, project_id, cluster_id, name, mode, auto_preview, last_updated_by)
     select $1, organization_id, id, $3, $4, $5, $6, $7 from project where id = $2
     returning *
   ), stages as (
     insert into deployment_stage (id, organization_id, environment_id, name, position)
     select gen_random_uuid(), made.organization_id, made.id, stage.name, stage.number - 1
       from made, unnest($8::text[]) with ordinality as stage (name, number)
   ), rule as (
     ${giveProjectRule('made')}
   )
   select ${ofEnvironment('made')}, ${ofCluster} from made join cluster on cluster.id = made.cluster_id`,
);

/** Parameter `$2`: the fields to change. All other fields stay. */
export const environmentEdit = statement<EnvironmentRow>(
  'environment_edit',
  `with edited as (
     update environment
        set name = case when $2::jsonb ? 'name' then $2->>'name' else name end,
            mode = case when $2 ? 'mode' then $2->>'mode' else mode end,
            auto_preview = case when $2 ? 'auto_preview' then coalesce(($2->>'auto_preview')::boolean, false) else auto_preview end,
            last_updated_by = $3,
            updated_at = clock_timestamp()
      where id = $1
     returning *
   )
   select ${ofEnvironment('edited')}, ${ofCluster} from edited join cluster on cluster.id = edited.cluster_id`,
);

/** Parameters: organization, cluster, environment. */
export const clusterToMoveTo = statement<{
  readonly name: string;
  readonly driver: string;
  readonly has_access: boolean;
  readonly mode: EnvironmentMode;
  /** Whether the environment is already on the cluster. */
  readonly is_there: boolean;
}>(
  'environment_cluster_to_move_to',
  `select cluster.name, cluster.driver, cluster.kubeconfig_sealed is not null or cluster.uses_service_account as has_access, environment.mode,
          environment.cluster_id = cluster.id as is_there
     from cluster join environment on environment.id = $3 where cluster.organization_id = $1 and cluster.id = $2 for share of cluster`,
);

export const environmentMove = statement(
  'environment_move',
  'update environment set cluster_id = $2, updated_at = clock_timestamp() where id = $1',
);

/** Moves the services and their host ports to the driver of the new cluster. */
export const servicesMove = statement('environment_services_move', 'update service set driver = $2 where environment_id = $1');
export const hostPortsMove = statement(
  'environment_host_ports_move',
  `update host_port set driver = $2
    where driver <> $2 and service_id in (select id from service where environment_id = $1)`,
);

export interface EnvironmentFactsRow {
  readonly organization_id: string;
  readonly project_id: string;
  readonly cluster_id: string;
  readonly driver: string;
  readonly has_access: boolean;
  readonly cluster_name: string;
  readonly is_demo: boolean;
  readonly billing_deployment_restriction: string | null;
  /** Whether a deletion waits or runs. */
  readonly deleting: boolean;
  /** Whether a deletion was requested, whatever its outcome. */
  readonly marked: boolean;
}

// The engine's queue shows whether the requested deletion still waits or runs. After a deletion that failed, was
// canceled or was withdrawn, the environment is like any other.
const isUnderWay = `environment.deleting and exists (
  select 1 from deployment where deployment.environment_id = environment.id and deployment.action = 'DELETE'
     and deployment.whole_environment and deployment.status in ('QUEUED', 'RUNNING'))`;

const location = `select environment.organization_id, environment.project_id, environment.cluster_id, environment.deleting as marked,
  ${isUnderWay} as deleting, cluster.driver,
  cluster.kubeconfig_sealed is not null or cluster.uses_service_account as has_access, cluster.name as cluster_name, cluster.is_demo,
  organization.billing_deployment_restriction
   from environment
   join cluster on cluster.id = environment.cluster_id
   join organization on organization.id = environment.organization_id
  where environment.id = $1 and ($2::uuid is null or environment.organization_id = $2)`;

export const environmentFacts = statement<EnvironmentFactsRow>('environment_place', location);

/**
 * Blocks the deletion of the environment until the transaction ends. Several transactions may hold this lock at once.
 */
export const environmentHold = statement<EnvironmentFactsRow>('environment_hold', `${location} for share of environment`);

/** Serializes changes of the order within the environment, and its deletion. */
export const environmentLock = statement<EnvironmentFactsRow>('environment_lock', `${location} for update of environment`);

export const environmentMark = statement(
  'environment_mark',
  'update environment set deleting = $2, updated_at = clock_timestamp() where id = $1 and deleting <> $2',
);

/**
 * Services, stages and variables are deleted with the environment. Services are deleted first, because they refer to
 * stages.
 */
export const environmentServicesRemove = statement(
  'environment_services_remove',
  'delete from service where environment_id = $1',
);
export const environmentRemove = statement('environment_remove', 'delete from environment where id = $1');

/** Copies environment `$2` into project `$3` on cluster `$4`. The mode is `$6`, or unchanged if that is null. */
export const environmentCopy = statement<{ driver: string }>(
  'environment_copy',
  `with made as (
     insert into environment (id, organization_id, project_id, cluster_id, name, mode, auto_preview, last_updated_by)
     select $1, organization_id, $3, $4, $5, coalesce($6, mode), auto_preview, $7 from environment where id = $2
     returning cluster_id
   )
   select cluster.driver from made join cluster on cluster.id = made.cluster_id`,
);

/** Gives the new environment `$1` a rule of its project. `$2` is not used. */
export const projectRuleGive = statement(
  'environment_give_project_rule',
  `with made as (select * from environment where id = $1 and id <> $2::uuid) ${giveProjectRule('made')}`,
);

/** Copies the rule of environment `$2` to environment `$1`. */
export const environmentRuleCopy = statement(
  'environment_rule_copy',
  `insert into environment_rule (environment_id, on_demand_preview, auto_stop, timezone, start_time, stop_time, weekdays)
   select $1, on_demand_preview, auto_stop, timezone, start_time, stop_time, weekdays from environment_rule where environment_id = $2`,
);

export const environmentStages = statement<{ id: string }>(
  'environment_stages',
  'select id from deployment_stage where environment_id = $1 order by position',
);

/** Copies the stages `$2` into environment `$1`, with the ids `$3`. */
export const environmentStagesCopy = statement(
  'environment_stages_copy',
  `insert into deployment_stage (id, organization_id, environment_id, name, description, position)
   select copy.id, stage.organization_id, $1, stage.name, stage.description, stage.position
     from unnest($2::uuid[], $3::uuid[]) as copy (of, id) join deployment_stage as stage on stage.id = copy.of
    order by stage.position`,
);
