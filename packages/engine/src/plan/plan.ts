import { never } from '@davit/base';
import type { Action, BuildCommit, JobEvent, JobRelease, ReleaseConfig } from '../model.ts';
import { helmSteps } from './helm.ts';
import { terraformSteps } from './terraform.ts';

/**
 * Steps by name. Each is a file of `steps/`; all can be repeated. `metric` is the contract's word under which the status
 * record counts its time.
 */
export const stepMetrics = {
  resolve: 'GIT_CLONE',
  checkout: 'GIT_CLONE',
  build: 'BUILD',
  pull: 'MIRROR_IMAGE',
  halt: 'DEPLOYMENT',
  start: 'DEPLOYMENT',
  ready: 'DEPLOYMENT',
  route: 'ROUTER_DEPLOYMENT',
  retire: 'DEPLOYMENT',
  unroute: 'ROUTER_DEPLOYMENT',
  stop: 'DEPLOYMENT',
  remove: 'DEPLOYMENT',
  launch: 'DEPLOYMENT',
  complete: 'DEPLOYMENT',
  clear: 'DEPLOYMENT',
  arm: 'DEPLOYMENT',
  obtain: 'GIT_CLONE',
  'terraform-plan': 'EXECUTING',
  'terraform-apply': 'EXECUTING',
  settle: 'EXECUTING',
  destroy: 'EXECUTING',
  forget: 'EXECUTING',
  unlock: 'EXECUTING',
  migrate: 'EXECUTING',
  'obtain-chart': 'DEPLOYMENT',
  install: 'DEPLOYMENT',
  'settle-chart': 'DEPLOYMENT',
  diff: 'DEPLOYMENT',
  'halt-chart': 'DEPLOYMENT',
  uninstall: 'DEPLOYMENT',
} as const;
export type StepName = keyof typeof stepMetrics;

/** What a step leaves in the journal for the steps after it, and for the runner that goes on after a crash. Never a secret. */
export interface StepOutput {
  readonly commit?: BuildCommit;
  /** Of the repository of a chart's values. */
  readonly valuesCommit?: string;
  readonly imageId?: string;
  /** The former instances are as wanted and stay. */
  readonly kept?: boolean;
  readonly rollout?: string;
  /** How many instances the rollout has. */
  readonly instances?: number;
  /** When the run of a job was started, ISO 8601. */
  readonly launchedAt?: string;
  /** Steps of the task that have nothing left to do. */
  readonly skip?: readonly StepName[];
}

export interface PlanInput {
  readonly serviceId: string;
  readonly stageName: string;
  readonly stagePosition: number;
  /** What is to run; null where the action needs none. */
  readonly config: ReleaseConfig | null;
  /** The release has its image already: a rollback or a restart. */
  readonly hasImage: boolean;
  /** The event of a job that was asked for by itself. */
  readonly event?: JobEvent | null;
  readonly serviceType?: string;
}

export interface PlannedTask {
  readonly serviceId: string;
  /** Done for all services of a stage before any of them is deployed. */
  readonly build: readonly StepName[];
  readonly deploy: readonly StepName[];
}

export interface PlannedStage {
  readonly name: string;
  readonly tasks: readonly PlannedTask[];
}

/**
 * Old and new instances cannot run side by side where a volume has one writer, or where the engine itself holds a port of the
 * host, or where somebody wants it so. Such a service is stopped before its new release starts.
 */
export function needsHalt(config: ReleaseConfig): boolean {
  if (config.options?.recreate === true) return true;
  return (
    config.volumes.length > 0 || config.ports.some((port) => port.protocol === 'UDP' && port.public && port.externalPort !== null)
  );
}

type Steps = Pick<PlannedTask, 'build' | 'deploy'>;

const noImageSteps: Steps = { build: [], deploy: [] };

/** What makes the image. One that is not built has no building phase: its pull is part of the deploying. */
function imageSteps(config: ReleaseConfig | null): Steps {
  if (config?.source.type === 'IMAGE') return { build: [], deploy: ['pull'] };
  return { build: ['resolve', 'checkout', 'build'], deploy: [] };
}

const eventOfAction: Readonly<Record<Action, JobEvent | null>> = {
  DEPLOY: 'START',
  RESTART: null,
  STOP: 'STOP',
  DELETE: 'DELETE',
  UNINSTALL: 'DELETE',
};

/** The event of a job that an action runs, or that was asked for by itself; null: the job has none such. */
export function eventOf(action: Action, job: JobRelease | undefined, forced: JobEvent | null): JobEvent | null {
  const event = forced ?? eventOfAction[action];
  return event !== null && job?.events[event] !== undefined ? event : null;
}

function jobSteps(action: Action, input: PlanInput, job: JobRelease): Steps {
  const hasRun = eventOf(action, job, input.event ?? null) !== null;
  const run: readonly StepName[] = hasRun ? ['launch', 'complete', 'clear'] : [];
  switch (action) {
    case 'DEPLOY':
    case 'RESTART': {
      const image = input.hasImage || action === 'RESTART' ? noImageSteps : imageSteps(input.config);
      return { build: image.build, deploy: [...image.deploy, ...run, 'arm'] };
    }
    case 'STOP':
      return { build: [], deploy: [...run, 'unroute', 'stop'] };
    case 'DELETE':
    case 'UNINSTALL':
      return { build: [], deploy: [...run, 'unroute', 'stop', 'remove'] };
    default:
      return never(action);
  }
}

function stepsOf(action: Action, input: PlanInput): Steps {
  if (input.serviceType === 'TERRAFORM') return { build: [], deploy: terraformSteps(action, input.config) };
  if (input.serviceType === 'HELM') return { build: [], deploy: helmSteps(action, input.config) };
  if (input.config?.job !== undefined) return jobSteps(action, input, input.config.job);
  switch (action) {
    case 'DEPLOY':
    case 'RESTART': {
      const halt: readonly StepName[] = input.config !== null && needsHalt(input.config) ? ['halt'] : [];
      const image = input.hasImage || action === 'RESTART' ? noImageSteps : imageSteps(input.config);
      return { build: image.build, deploy: [...image.deploy, ...halt, 'start', 'ready', 'route', 'retire'] };
    }
    case 'STOP':
      return { build: [], deploy: ['unroute', 'stop'] };
    case 'DELETE':
    case 'UNINSTALL':
      return { build: [], deploy: ['unroute', 'stop', 'remove'] };
    default:
      return never(action);
  }
}

/** Stages in the order in which they run: by position, in reverse where things are taken down. */
export function planStages(action: Action, inputs: readonly PlanInput[]): PlannedStage[] {
  const stages = [...Map.groupBy(inputs, (input) => input.stagePosition)].sort(([a], [b]) => a - b);
  if (action !== 'DEPLOY' && action !== 'RESTART') stages.reverse();
  return stages.map(([, members]) => ({
    name: members[0]?.stageName ?? '',
    tasks: members.map((input) => ({ serviceId: input.serviceId, ...stepsOf(action, input) })),
  }));
}
