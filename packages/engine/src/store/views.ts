import { statement } from '@davit/db';
import type { Action, FailureRecord, ReleaseCommand, ReleaseCommit, TerraformAction } from '../model.ts';
import type { Origin } from '../port.ts';
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
  `CASE WHEN ${service}.service_type = 'TERRAFORM'
     THEN (SELECT config #>> '{source,action}' FROM release WHERE id = ${service}.release_id) END AS terraform_action`;

// Leaves out the step that stops former instances. It runs after the service has succeeded and is deployed.
export const serviceViews = statement<ServiceViewRow>(
  'serviceViews',
  `SELECT s.id AS service_id, t.release_id AS runtime_release_id, t.config_hash, t.running_status, t.running_instances, r.commit,
          CASE WHEN t.desired <> 'RUNNING' AND t.instances IS NOT NULL THEN 0 ELSE t.instances END AS wanted_instances,
          l.environment_id, l.phase, l.service_type, l.terraform_action, l.action, l.execution_number, l.failure, l.created_at AS deployment_created_at,
          l.started_at, l.finished_at, l.is_last, q.id AS waiting_id, q.action AS waiting_action,
          coalesce(q.waiting, 0)::integer AS waiting_count, st.steps, ${conditionsOf('s.id')} AS conditions
     FROM unnest($1::uuid[]) WITH ORDINALITY AS s(id, n)
     LEFT JOIN service_runtime t ON t.service_id = s.id
     LEFT JOIN release r ON r.id = t.release_id
     LEFT JOIN LATERAL (
       SELECT d.id, d.environment_id, ds.phase, ds.service_type, ${terraformAction('ds')}, d.action, d.execution_number, ds.failure, d.created_at, ds.started_at, ds.finished_at,
              NOT EXISTS (SELECT 1 FROM deployment n WHERE n.environment_id = d.environment_id AND n.sequence > d.sequence AND n.${started}) AS is_last
         FROM deployment_service ds JOIN deployment d ON d.id = ds.deployment_id
        WHERE ds.service_id = s.id AND d.${started}
        ORDER BY d.sequence DESC LIMIT 1) l ON true
     LEFT JOIN LATERAL (
       SELECT d.id, d.action, count(*) OVER () AS waiting
         FROM deployment_service ds JOIN deployment d ON d.id = ds.deployment_id
        WHERE ds.service_id = s.id AND d.status = 'QUEUED'
        ORDER BY d.sequence LIMIT 1) q ON true
     LEFT JOIN LATERAL (
       SELECT jsonb_agg(jsonb_build_object('metric', p.metric, 'status', p.status, 'started_at', p.started_at, 'finished_at', p.finished_at)
                        ORDER BY p.position) AS steps
         FROM deployment_step p WHERE p.deployment_id = l.id AND p.service_id = s.id AND p.name <> 'retire') st ON true
    ORDER BY s.n`,
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

const deploymentColumns = `d.id, d.environment_id, d.execution_number, d.action, d.status, d.cancel_requested_at IS NOT NULL AS canceling,
  d.origin, d.triggered_by, d.created_at, d.started_at, d.finished_at,
  EXISTS (SELECT 1 FROM deployment_service b WHERE b.deployment_id = d.id AND b.phase = 'BUILD_FAILED') AS build_failed`;

export const environmentLast = statement<DeploymentRow>(
  'environmentLast',
  `SELECT ${deploymentColumns} FROM deployment d WHERE d.environment_id = $1 AND d.${started} ORDER BY d.sequence DESC LIMIT 1`,
);

export const environmentWaiting = statement<{ id: string; action: Action }>(
  'environmentWaiting',
  `SELECT id, action FROM deployment WHERE environment_id = $1 AND status = 'QUEUED' ORDER BY sequence LIMIT 1`,
);

export const environmentHistory = statement<DeploymentRow>(
  'environmentHistory',
  `SELECT ${deploymentColumns} FROM deployment d
    WHERE d.environment_id = $1 AND d.${started}
      AND ($4::uuid IS NULL OR d.sequence < (SELECT sequence FROM deployment WHERE id = $4 AND environment_id = $1))
    ORDER BY d.sequence DESC LIMIT $2 OFFSET $3`,
);

export const deploymentById = statement<DeploymentRow>(
  'deploymentById',
  `SELECT ${deploymentColumns} FROM deployment d WHERE d.id = $1`,
);

export const environmentQueue = statement<DeploymentRow>(
  'environmentQueue',
  `SELECT ${deploymentColumns} FROM deployment d WHERE d.environment_id = $1 AND d.status = 'QUEUED' ORDER BY d.sequence`,
);

export const serviceQueue = statement<DeploymentRow>(
  'serviceQueue',
  `SELECT ${deploymentColumns} FROM deployment d
    WHERE d.status = 'QUEUED' AND EXISTS (SELECT 1 FROM deployment_service s WHERE s.deployment_id = d.id AND s.service_id = $1)
    ORDER BY d.sequence`,
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
  d.created_at AS deployment_created_at, s.service_id, s.service_type, ${terraformAction('s')}, s.service_name, s.icon_uri, s.phase, s.failure,
  s.started_at, s.finished_at, s.release_id, r.commit, s.stage_id, s.stage_name, s.stage_position,
  (SELECT jsonb_build_object('source', c.config -> 'source', 'entrypoint', c.config -> 'entrypoint', 'arguments', c.config -> 'arguments')
            || CASE WHEN c.config ? 'job' THEN jsonb_build_object('job', c.config -> 'job') ELSE '{}' END
     FROM release c WHERE c.id = coalesce(s.release_id, (
       SELECT f.release_id FROM deployment_service f
        WHERE f.service_id = s.service_id AND f.release_id IS NOT NULL AND f.phase = 'SUCCEEDED' AND f.created_at <= s.created_at
        ORDER BY f.created_at DESC LIMIT 1))) AS ran`;

export const servicesOfDeployments = statement<HistoryRow>(
  'servicesOfDeployments',
  `SELECT ${historyColumns} FROM deployment_service s JOIN deployment d ON d.id = s.deployment_id LEFT JOIN release r ON r.id = s.release_id
    WHERE s.deployment_id = ANY ($1::uuid[]) ORDER BY s.stage_position, s.created_at, s.service_id`,
);

export const serviceHistory = statement<HistoryRow>(
  'serviceHistory',
  `SELECT ${historyColumns} FROM deployment_service s JOIN deployment d ON d.id = s.deployment_id LEFT JOIN release r ON r.id = s.release_id
    WHERE s.service_id = $1 AND d.${started}
      AND ($4::uuid IS NULL OR d.sequence < (
        SELECT f.sequence FROM deployment f JOIN deployment_service fs ON fs.deployment_id = f.id WHERE f.id = $4 AND fs.service_id = $1))
    ORDER BY d.sequence DESC LIMIT $2 OFFSET $3`,
);
