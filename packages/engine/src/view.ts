import type { KnownKinds } from './kinds/traits.ts';
import type {
  BegunStepView,
  ConditionView,
  DeploymentView,
  EnvironmentView,
  HistoryServiceView,
  ReleaseView,
  ServiceOverview,
  ServiceStateView,
  ServiceView,
  StepView,
} from './port.ts';
import type { TerraformAction } from './model.ts';
import { fieldsOf } from './plan/fields.ts';
import { actionStatusOf, actionWord, deploymentState, isFinished, stateOf } from './states.ts';
import type { ConditionRow } from './store/conditions.ts';
import type { ReleaseRow } from './store/releases.ts';
import type {
  BegunStepRow,
  DeploymentRow,
  HistoryRow,
  ServiceOverviewRow,
  ServiceStateRow,
  ServiceViewRow,
  StepMetricRow,
} from './store/views.ts';

/** Returns `<environment id>-<counter>`; null before the deployment has left the queue. */
export function executionId(environmentId: string, number: number | null): string | null {
  return number === null ? null : `${environmentId}-${number}`;
}

export function toServiceState(kinds: KnownKinds, row: ServiceStateRow): ServiceStateView {
  const failed = row.phase === 'BUILD_FAILED' || row.phase === 'FAILED' || row.phase === 'CANCELED';
  return {
    serviceId: row.service_id,
    ...currentOf(kinds, row),
    deployedConfigHash: row.config_hash,
    lastAttemptFailed: failed && row.action === 'DEPLOY',
  };
}

export function toServiceView(kinds: KnownKinds, row: ServiceViewRow): ServiceView {
  return {
    ...toServiceState(kinds, row),
    executionId: row.environment_id === null ? null : executionId(row.environment_id, row.execution_number),
    lastDeploymentAt: row.finished_at ?? row.started_at,
    isPartOfLastDeployment: row.is_last ?? false,
    steps: toSteps(row),
    waitingRequestId: row.waiting_id,
    waitingRequests: row.waiting_count,
    failure: row.waiting_id === null || row.phase === null || !isFinished(row.phase) ? row.failure : null,
    // Without a hash, the release was only begun.
    deployedReleaseId: row.config_hash === null ? null : row.runtime_release_id,
    deployedCommit: row.config_hash === null ? null : row.commit,
    runningStatus: row.running_status,
    wantedInstances: row.wanted_instances,
    runningInstances: row.running_instances,
    terraformAction: terraformOf(kinds, row),
    conditions: (row.conditions ?? []).map(toCondition),
  };
}

export function toServiceOverview(kinds: KnownKinds, row: ServiceOverviewRow): ServiceOverview {
  return {
    ...toServiceState(kinds, row),
    runningStatus: row.running_status,
    runningInstances: row.running_instances,
    wantedInstances: row.wanted_instances,
    releaseId: row.release_id,
    lastDeploymentAt: row.last_deployment_at,
    failure: row.waiting_action === null && row.phase !== null && isFinished(row.phase) ? row.failure : null,
  };
}

export function toCondition({ instance_name, since, seen_at, ...row }: ConditionRow): ConditionView {
  // Times inside of JSON are in PostgreSQL's format.
  return { ...row, instance: instance_name, since: new Date(since).toISOString(), seenAt: new Date(seen_at).toISOString() };
}

function terraformOf(
  kinds: KnownKinds,
  row: Pick<ServiceViewRow, 'service_type' | 'action' | 'terraform_action'>,
): TerraformAction | null {
  if (row.action === null) return null;
  return kinds.ofService(row.service_type).terraformAction?.(row.action, row.terraform_action) ?? null;
}

/**
 * Returns the current state: a running deployment takes precedence over a waiting request, and a waiting request over a
 * finished deployment.
 */
function currentOf(kinds: KnownKinds, row: ServiceStateRow): Pick<ServiceView, 'state' | 'action' | 'actionStatus'> {
  const running = row.phase !== null && !isFinished(row.phase);
  if (!running && row.waiting_action !== null) {
    return { state: stateOf(row.waiting_action, 'QUEUED'), action: actionWord(row.waiting_action), actionStatus: 'QUEUED' };
  }
  if (row.phase === null || row.action === null) return { state: 'READY', action: 'UNKNOWN', actionStatus: 'NEVER' };
  const kind = kinds.ofService(row.service_type);
  const state = stateOf(row.action, row.phase, kind);
  if (state === 'READY') return { state, action: 'UNKNOWN', actionStatus: 'NEVER' };
  return { state, action: actionWord(row.action), actionStatus: actionStatusOf(row.action, row.phase, kind) };
}

const buildMetrics = new Set(['GIT_CLONE', 'BUILD']);

function toSteps(row: ServiceViewRow): ServiceView['steps'] {
  if (row.steps === null || row.steps.length === 0 || row.deployment_created_at === null) return null;
  const groups = [...Map.groupBy(row.steps, (step) => step.metric)];
  const details = groups.flatMap(([metric, steps]) => toStep(metric, steps));
  const queueing = queueingSteps(row.steps, row.deployment_created_at);
  const finishedAt = row.finished_at;
  return {
    details: [...queueing.filter((step) => step.metric === 'BUILD_QUEUEING'), ...interleave(details, queueing)],
    totalMilliseconds: finishedAt === null ? null : Math.max(0, Date.parse(finishedAt) - Date.parse(row.deployment_created_at)),
  };
}

function interleave(details: readonly StepView[], queueing: readonly StepView[]): StepView[] {
  const build = details.filter((step) => buildMetrics.has(step.metric));
  const deploy = details.filter((step) => !buildMetrics.has(step.metric));
  return [...build, ...queueing.filter((step) => step.metric === 'DEPLOYMENT_QUEUEING'), ...deploy];
}

/**
 * Returns the queueing times: before the build and between its steps, since a build waits for its slot after the commit
 * is looked up, and between the last build step and the first deploy step. Pure.
 */
export function queueingSteps(steps: readonly StepMetricRow[], requestedAt: string): StepView[] {
  const build = steps.filter((step) => buildMetrics.has(step.metric));
  const deploy = steps.filter((step) => !buildMetrics.has(step.metric));
  const begun = build.filter((step) => step.started_at !== null);
  const waits = begun.map(({ started_at }, index) =>
    between(index === 0 ? requestedAt : (begun[index - 1]?.finished_at ?? null), started_at),
  );
  const buildWait = waits.reduce((sum, wait) => sum + wait, 0);
  const lastBuild = build.map((step) => step.finished_at).findLast((at) => at !== null) ?? null;
  const from = build.length === 0 ? requestedAt : lastBuild;
  const to = deploy.find((step) => step.started_at !== null)?.started_at ?? null;
  return [
    ...(begun.length === 0 ? [] : [waited('BUILD_QUEUEING', buildWait)]),
    ...(from === null || to === null ? [] : [waited('DEPLOYMENT_QUEUEING', between(from, to))]),
  ];
}

function waited(metric: string, durationMilliseconds: number): StepView {
  return { metric, status: 'SUCCESS', durationMilliseconds };
}

/** Merges several journal steps into one step for the reader: the worst result wins, durations add up. */
function toStep(metric: string, steps: readonly StepMetricRow[]): StepView[] {
  const statuses = steps.map((step) => step.status);
  const open = statuses.some((status) => status === 'PENDING' || status === 'RUNNING');
  const ended = statuses.includes('FAILED') ? 'ERROR' : statuses.includes('CANCELED') ? 'CANCEL' : null;
  if (open && ended === null) return [];
  const status = ended ?? (statuses.every((one) => one === 'SKIPPED') ? 'SKIP' : 'SUCCESS');
  const durationMilliseconds = steps.reduce(
    (sum, step) =>
      step.started_at === null || step.finished_at === null
        ? sum
        : sum + Math.max(0, Date.parse(step.finished_at) - Date.parse(step.started_at)),
    0,
  );
  return [{ metric, status, durationMilliseconds }];
}

export function toHistoryService(kinds: KnownKinds, row: HistoryRow): HistoryServiceView {
  const kind = kinds.ofService(row.service_type);
  return {
    deploymentId: row.deployment_id,
    serviceId: row.service_id,
    serviceType: row.service_type,
    name: row.service_name,
    iconUri: row.icon_uri,
    executionId: executionId(row.environment_id, row.execution_number),
    state: stateOf(row.action, row.phase, kind),
    phase: row.phase,
    action: actionWord(row.action),
    actionStatus: actionStatusOf(row.action, row.phase, kind),
    createdAt: row.deployment_created_at,
    updatedAt: row.finished_at ?? row.started_at ?? row.deployment_created_at,
    triggeredBy: row.triggered_by,
    origin: row.origin,
    commit: row.commit,
    ran: row.ran,
    totalMilliseconds: between(row.started_at, row.finished_at),
    releaseId: row.release_id,
    failure: row.failure,
    terraformAction: terraformOf(kinds, row),
    stage: { id: row.stage_id, name: row.stage_name, position: row.stage_position },
  };
}

export function toDeploymentView(kinds: KnownKinds, row: DeploymentRow, services: readonly HistoryRow[]): DeploymentView {
  return {
    deploymentId: row.id,
    environmentId: row.environment_id,
    executionId: executionId(row.environment_id, row.execution_number),
    action: row.action,
    status: row.status,
    canceling: row.canceling && row.status === 'RUNNING',
    state: row.canceling && row.status === 'RUNNING' ? 'CANCELING' : deploymentState(row.action, row.status, row.build_failed),
    createdAt: row.created_at,
    updatedAt: row.finished_at ?? row.started_at ?? row.created_at,
    triggeredBy: row.triggered_by,
    origin: row.origin,
    totalMilliseconds: between(row.started_at, row.finished_at),
    services: services.map((service) => toHistoryService(kinds, service)),
  };
}

export function toEnvironmentView(
  last: DeploymentRow | undefined,
  waiting: { readonly id: string; readonly action: DeploymentRow['action'] } | undefined,
): EnvironmentView {
  return {
    last:
      last === undefined
        ? null
        : {
            deploymentId: last.id,
            executionId: executionId(last.environment_id, last.execution_number) ?? '',
            state:
              last.canceling && last.status === 'RUNNING'
                ? 'CANCELING'
                : deploymentState(last.action, last.status, last.build_failed),
            running: last.status === 'RUNNING',
            at: last.finished_at ?? last.started_at ?? last.created_at,
            totalMilliseconds: last.finished_at === null ? null : between(last.started_at, last.finished_at),
            origin: last.origin,
            triggeredBy: last.triggered_by,
          },
    waitingRequestId: waiting?.id ?? null,
    waitingAction: waiting?.action ?? null,
  };
}

export function toReleaseView({ id, config, commit, image_id: imageId, ...row }: ReleaseRow): ReleaseView {
  return { id, createdAt: row.created_at, createdBy: row.created_by, commit, fields: fieldsOf({ config, commit, imageId }) };
}

export function toBegunStep({ service_id, started_at, finished_at, ...step }: BegunStepRow): BegunStepView {
  return { ...step, serviceId: service_id, startedAt: started_at, finishedAt: finished_at };
}

function between(from: string | null, to: string | null): number {
  return from === null || to === null ? 0 : Math.max(0, Date.parse(to) - Date.parse(from));
}
