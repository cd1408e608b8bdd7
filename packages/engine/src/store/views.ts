import { markOf, statement } from '@davit/db';
import type { Action, FailureRecord, ReleaseCommand, ReleaseCommit, TerraformAction } from '../model.ts';
import type { BegunStepView, Origin } from '../port.ts';
import type { Phase } from '../states.ts';
import { conditionsOf, type ConditionRow } from './conditions.ts';

export interface StepMetricRow {
  readonly metric: string;
  readonly status: 'PENDING' | 'RUNNING' | 'DONE' | 'SKIPPED' | 'FAILED' | 'CANCELED';
  readonly started_at: string | null;
  readonly finished_at: string | null;
}

export interface ServiceViewRow {
  readonly service_id: string;
  readonly runtime_release_id: string | null;
  readonly config_hash: string | null;
  readonly running_status: 'STARTING' | 'RUNNING' | 'WARNING' | 'ERROR' | 'STOPPING' | 'STOPPED' | 'COMPLETED' | null;
  readonly conditions: readonly ConditionRow[] | null;
  readonly commit: ReleaseCommit | null;
  readonly wanted_instances: number | null;
  readonly running_instances: number | null;
  readonly environment_id: string | null;
  readonly phase: Phase | null;
  readonly service_type: string | null;
  readonly terraform_action: TerraformAction | null;
  readonly action: Action | null;
  readonly execution_number: number | null;
  readonly failure: FailureRecord | null;
  readonly deployment_created_at: string | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly is_last: boolean | null;
  readonly waiting_id: string | null;
  readonly waiting_action: Action | null;
  readonly waiting_count: number;
  readonly steps: readonly StepMetricRow[] | null;
}

/** SQL condition for deployments that left the queue, however they ended. */
const started = `status NOT IN ('QUEUED', 'WITHDRAWN')`;

/** Returns SQL for the action of a Terraform deployment; null for other services. */
const terraformAction = (service: string): string =>
  `case when ${service}.service_type = 'TERRAFORM'
     then (select config #>> '{source,action}' from release where id = ${service}.release_id) end as terraform_action`;

// Leaves out the step that stops former instances. It runs after the service has succeeded and is deployed.
export const serviceViews = statement<ServiceViewRow>(
  'service_views',
  `select s.id as service_id, t.release_id as runtime_release_id, t.config_hash, t.running_status, t.running_instances, r.commit,
          case when t.desired <> 'RUNNING' and t.instances is not null then 0 else t.instances end as wanted_instances,
          l.environment_id, l.phase, l.service_type, l.terraform_action, l.action, l.execution_number, l.failure, l.created_at as deployment_created_at,
          l.started_at, l.finished_at, l.is_last, q.id as waiting_id, q.action as waiting_action,
          coalesce(q.waiting, 0)::integer as waiting_count, st.steps, ${conditionsOf('s.id')} as conditions
     from unnest($1::uuid[]) with ordinality as s(id, n)
     left join service_runtime t on t.service_id = s.id
     left join release r on r.id = t.release_id
     left join lateral (
       select d.id, d.environment_id, ds.phase, ds.service_type, ${terraformAction('ds')}, d.action, d.execution_number, ds.failure, d.created_at, ds.started_at, ds.finished_at,
              not exists (select 1 from deployment n where n.environment_id = d.environment_id and n.sequence > d.sequence and n.${started}) as is_last
         from deployment_service ds join deployment d on d.id = ds.deployment_id
        where ds.service_id = s.id and d.${started}
        order by d.sequence desc limit 1) l on true
     left join lateral (
       select d.id, d.action, count(*) over () as waiting
         from deployment_service ds join deployment d on d.id = ds.deployment_id
        where ds.service_id = s.id and d.status = 'QUEUED'
        order by d.sequence limit 1) q on true
     left join lateral (
       select jsonb_agg(jsonb_build_object('metric', p.metric, 'status', p.status, 'started_at', p.started_at, 'finished_at', p.finished_at)
                        order by p.position) as steps
         from deployment_step p where p.deployment_id = l.id and p.service_id = s.id and p.name <> 'retire') st on true
    order by s.n`,
);

export type ServiceStateRow = Pick<
  ServiceViewRow,
  'service_id' | 'config_hash' | 'phase' | 'service_type' | 'action' | 'waiting_action'
>;

/** The part of `serviceViews` that the states of services are made of. */
export const serviceStates = statement<ServiceStateRow>(
  'service_states',
  `select s.id as service_id, t.config_hash, l.phase, l.service_type, l.action,
          (select d.action from deployment_service ds join deployment d on d.id = ds.deployment_id
            where ds.service_id = s.id and d.status = 'QUEUED' order by d.sequence limit 1) as waiting_action
     from unnest($1::uuid[]) with ordinality as s(id, n)
     left join service_runtime t on t.service_id = s.id
     left join lateral (
       select ds.phase, ds.service_type, d.action from deployment_service ds join deployment d on d.id = ds.deployment_id
        where ds.service_id = s.id and d.${started} order by d.sequence desc limit 1) l on true
    order by s.n`,
);

export interface ServiceOverviewRow extends ServiceStateRow {
  readonly running_status: ServiceViewRow['running_status'];
  readonly running_instances: number | null;
  readonly wanted_instances: number | null;
  readonly release_id: string | null;
  readonly last_deployment_at: string | null;
  readonly failure: Pick<FailureRecord, 'code' | 'message' | 'hint'> | null;
}

/** The part of `serviceViews` that an overview shows, without conditions. 1,000 services: some 25 ms. */
export const serviceOverviews = statement<ServiceOverviewRow>(
  'service_overviews',
  `select s.id as service_id, t.config_hash, l.phase, l.service_type, l.action, t.running_status, t.running_instances,
          case when t.desired <> 'RUNNING' and t.instances is not null then 0 else t.instances end as wanted_instances,
          case when t.config_hash is not null and t.desired <> 'NONE' then t.release_id end as release_id,
          coalesce(l.finished_at, l.started_at) as last_deployment_at,
          case when l.code is not null then jsonb_build_object('code', l.code, 'message', l.message, 'hint', l.hint) end as failure,
          (select d.action from deployment_service ds join deployment d on d.id = ds.deployment_id
            where ds.service_id = s.id and d.status = 'QUEUED' order by d.sequence limit 1) as waiting_action
     from unnest($1::uuid[]) with ordinality as s(id, n)
     left join service_runtime t on t.service_id = s.id
     left join lateral (
       select ds.phase, ds.service_type, d.action, ds.started_at, ds.finished_at, ds.failure ->> 'code' as code,
              ds.failure ->> 'message' as message, ds.failure ->> 'hint' as hint
         from deployment_service ds join deployment d on d.id = ds.deployment_id
        where ds.service_id = s.id and d.${started} order by d.sequence desc limit 1) l on true
    order by s.n`,
);

/**
 * Returns SQL for the mark of the states of an environment's services. Deployments that ended before the last one are
 * left out: they do not change any more.
 */
const markOfStates = (environment: string): string => `with recent as (
     select d.id, ${markOf('d')} as mark from deployment d where d.environment_id = ${environment} and d.status in ('QUEUED', 'RUNNING')
     union
     (select d.id, ${markOf('d')} from deployment d where d.environment_id = ${environment} and d.${started} order by d.sequence desc limit 1))
   select concat_ws(' ',
     (select sum(mark) from recent),
     (select sum(${markOf('s')}) from deployment_service s where s.deployment_id = any (array(select id from recent))),
     (select sum(${markOf('t')}) from service_runtime t where t.environment_id = ${environment})) as mark`;

export const stateMark = statement<{ mark: string }>('environment_state_mark', markOfStates('$1'));

/** Returns the marks of the states of many environments. Parameter: their ids. */
export const stateMarks = statement<{ id: string; mark: string }>(
  'environment_state_marks',
  `select asked.id, found.mark from unnest($1::uuid[]) as asked(id) cross join lateral (${markOfStates('asked.id')}) found`,
);

export interface DeploymentRow {
  readonly id: string;
  readonly environment_id: string;
  readonly execution_number: number | null;
  readonly action: Action;
  readonly status: 'QUEUED' | 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'CANCELED' | 'WITHDRAWN';
  readonly canceling: boolean;
  readonly origin: Origin;
  readonly triggered_by: string;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly build_failed: boolean;
}

const deploymentColumns = `d.id, d.environment_id, d.execution_number, d.action, d.status, d.cancel_requested_at is not null as canceling,
  d.origin, d.triggered_by, d.created_at, d.started_at, d.finished_at,
  d.status = 'FAILED' and exists (
    select 1 from deployment_service b where b.deployment_id = d.id and b.phase = 'BUILD_FAILED') as build_failed`;

export const environmentLast = statement<DeploymentRow>(
  'environment_last',
  `select ${deploymentColumns} from deployment d where d.environment_id = $1 and d.${started} order by d.sequence desc limit 1`,
);

/** The last deployment and the first waiting request of each of many environments. Parameter: their ids. */
export const environmentsLast = statement<DeploymentRow>(
  'environments_last',
  `select l.* from unnest($1::uuid[]) as e(id) cross join lateral (
     select ${deploymentColumns} from deployment d where d.environment_id = e.id and d.${started} order by d.sequence desc limit 1) l`,
);
export const environmentsWaiting = statement<{ environment_id: string; id: string; action: Action }>(
  'environments_waiting',
  `select distinct on (environment_id) environment_id, id, action from deployment
    where environment_id = any ($1::uuid[]) and status = 'QUEUED' order by environment_id, sequence`,
);

export const environmentWaiting = statement<{ id: string; action: Action }>(
  'environment_waiting',
  `select id, action from deployment where environment_id = $1 and status = 'QUEUED' order by sequence limit 1`,
);

export const environmentHistory = statement<DeploymentRow>(
  'environment_history',
  `select ${deploymentColumns} from deployment d
    where d.environment_id = $1 and d.${started}
      and ($4::uuid is null or d.sequence < (select sequence from deployment where id = $4 and environment_id = $1))
    order by d.sequence desc limit $2 offset $3`,
);

export const deploymentById = statement<DeploymentRow>(
  'deployment_by_id',
  `select ${deploymentColumns} from deployment d where d.id = $1`,
);

export interface BegunStepRow {
  readonly service_id: string;
  readonly name: string;
  readonly metric: BegunStepView['metric'];
  readonly status: BegunStepView['status'];
  readonly attempt: number;
  readonly started_at: string;
  readonly finished_at: string | null;
}

export const begunSteps = statement<BegunStepRow>(
  'begun_steps',
  `select service_id, name, metric, status, attempt, started_at, finished_at from deployment_step
    where deployment_id = $1 and started_at is not null order by started_at, service_id, position`,
);

export const environmentQueue = statement<DeploymentRow>(
  'environment_queue',
  `select ${deploymentColumns} from deployment d where d.environment_id = $1 and d.status = 'QUEUED' order by d.sequence`,
);

export const serviceQueue = statement<DeploymentRow>(
  'service_queue',
  `select ${deploymentColumns} from deployment d
    where d.status = 'QUEUED' and exists (select 1 from deployment_service s where s.deployment_id = d.id and s.service_id = $1)
    order by d.sequence`,
);

export interface HistoryRow {
  readonly deployment_id: string;
  readonly environment_id: string;
  readonly execution_number: number | null;
  readonly action: Action;
  readonly origin: Origin;
  readonly triggered_by: string;
  readonly deployment_created_at: string;
  readonly service_id: string;
  readonly service_type: string;
  readonly terraform_action: TerraformAction | null;
  readonly service_name: string;
  readonly icon_uri: string;
  readonly phase: Phase;
  readonly failure: FailureRecord | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly release_id: string | null;
  readonly commit: ReleaseCommit | null;
  readonly ran: ReleaseCommand | null;
  readonly stage_id: string | null;
  readonly stage_name: string;
  readonly stage_position: number;
}

const historyColumns = `s.deployment_id, d.environment_id, d.execution_number, d.action, d.origin, d.triggered_by,
  d.created_at as deployment_created_at, s.service_id, s.service_type, ${terraformAction('s')}, s.service_name, s.icon_uri, s.phase, s.failure,
  s.started_at, s.finished_at, s.release_id, r.commit, s.stage_id, s.stage_name, s.stage_position,
  (select jsonb_build_object('source', c.config -> 'source', 'entrypoint', c.config -> 'entrypoint', 'arguments', c.config -> 'arguments')
            || case when c.config ? 'job' then jsonb_build_object('job', c.config -> 'job') else '{}' end
     from release c where c.id = coalesce(s.release_id, (
       select f.release_id from deployment_service f
        where f.service_id = s.service_id and f.release_id is not null and f.phase = 'SUCCEEDED' and f.created_at <= s.created_at
        order by f.created_at desc limit 1))) as ran`;

export const servicesOfDeployments = statement<HistoryRow>(
  'services_of_deployments',
  `select ${historyColumns} from deployment_service s join deployment d on d.id = s.deployment_id left join release r on r.id = s.release_id
    where s.deployment_id = any ($1::uuid[]) order by s.stage_position, s.created_at, s.service_id`,
);

export const serviceHistory = statement<HistoryRow>(
  'service_history',
  `select ${historyColumns} from deployment_service s join deployment d on d.id = s.deployment_id left join release r on r.id = s.release_id
    where s.service_id = $1 and d.${started}
      and ($4::uuid is null or d.sequence < (
        select f.sequence from deployment f join deployment_service fs on fs.deployment_id = f.id where f.id = $4 and fs.service_id = $1))
    order by d.sequence desc limit $2 offset $3`,
);
