import type { operations, Response } from '@davit/contract';
import type * as engine from '@davit/engine/port';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import type { ReleaseSettings } from '../service/index.ts';
import { listStages } from '../deployment-stage/index.ts';
import { readStatuses } from './status.ts';
import { stageMilliseconds, stageStatus } from './views.ts';

type StatusesWithStages = Response<(typeof operations)['getEnvironmentStatusesWithStages']>;
type StageWithStatuses = StatusesWithStages['stages'][number];
type Stage = StageWithStatuses['stage'];

/**
 * Returns the status of an environment with its stages. The status of each stage comes from the running deployment,
 * otherwise from the next one, otherwise from the last one.
 */
export async function readStatusesWithStages(
  deps: Needs<'database' | 'engine', keyof ReleaseSettings>,
  caller: Caller,
  environmentId: string,
): Promise<StatusesWithStages> {
  const { environment, ...byType } = await readStatuses(deps, caller, environmentId);
  const { results: stages } = await listStages(deps, caller, environmentId);
  const shown = await shownDeployment(deps, environmentId);
  return {
    environment,
    stages: stages.map(({ id, name, description, services }) => {
      const ids = new Set(services.map((service) => service.service_id));
      const inStage = (statuses: typeof byType.applications) => statuses.filter((status) => ids.has(status.id));
      return {
        stage: toStage({ id, name, description: description ?? '' }, shown),
        applications: inStage(byType.applications),
        containers: inStage(byType.containers),
        jobs: inStage(byType.jobs),
        databases: inStage(byType.databases),
        helms: inStage(byType.helms),
        terraforms: inStage(byType.terraforms),
      };
    }),
  };
}

async function shownDeployment(
  deps: Needs<'database' | 'engine'>,
  environmentId: string,
): Promise<engine.DeploymentView | undefined> {
  const [last] = await deps.engine.environmentHistory(deps.database, environmentId, { page: 1, pageSize: 1 });
  if (last?.status === 'RUNNING') return last;
  const [next] = await deps.engine.queueOfEnvironment(deps.database, environmentId);
  return next ?? last;
}

function toStage(stage: Pick<Stage, 'id' | 'name' | 'description'>, shown: engine.DeploymentView | undefined): Stage {
  if (shown === undefined) return stage;
  const services = shown.services.filter((service) => service.stage.id === stage.id);
  if (services.length === 0) return { ...stage, status: 'SKIPPED' };
  const status = stageStatus(services);
  const isOver = status !== 'QUEUED' && status !== 'ONGOING';
  const seconds = isOver ? Math.round(stageMilliseconds(services) / 1000) : null;
  const total = { stage_id: stage.id, step_name: 'TOTAL', status: endWords[status], duration_sec: seconds ?? 0 } as const;
  return {
    ...stage,
    status,
    steps: { stage_id: stage.id, total_duration_sec: seconds, details: isOver ? [total] : [] },
  };
}

const endWords = {
  QUEUED: 'SUCCESS',
  ONGOING: 'SUCCESS',
  DONE: 'SUCCESS',
  ERROR: 'ERROR',
  CANCELED: 'CANCEL',
  SKIPPED: 'SKIP',
} as const;
