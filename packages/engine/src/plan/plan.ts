import { kindOfService, type Steps, type StepsInput } from '../kinds/index.ts';
import type { Action, BuildCommit } from '../model.ts';

/**
 * Metrics of the steps, by name of the step. Each step is a file of `steps/` and can be repeated. `metric` is the
 * contract's word under which the status record counts the step's time.
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

/**
 * The output of a step, stored in the journal for later steps and for the runner that resumes after a crash. It never
 * contains a secret.
 */
export interface StepOutput {
  readonly commit?: BuildCommit;
  /** Commit of the repository of a chart's values. */
  readonly valuesCommit?: string;
  readonly imageId?: string;
  /** The former instances already match the release and stay. */
  readonly kept?: boolean;
  readonly rollout?: string;
  /** Number of instances of the rollout. */
  readonly instances?: number;
  /** Time at which the run of a job was started, ISO 8601. */
  readonly launchedAt?: string;
  /** Steps of the task that have nothing left to do. */
  readonly skip?: readonly StepName[];
}

export interface PlanInput extends StepsInput {
  readonly serviceId: string;
  readonly stageName: string;
  readonly stagePosition: number;
  /** Type of the service, as the API has it. */
  readonly serviceType?: string;
}

export interface PlannedTask extends Steps {
  readonly serviceId: string;
}

export interface PlannedStage {
  readonly name: string;
  readonly tasks: readonly PlannedTask[];
}

/** Returns the stages in the order in which they run: by position, in reverse when services are taken down. */
export function planStages(action: Action, inputs: readonly PlanInput[]): PlannedStage[] {
  const stages = [...Map.groupBy(inputs, (input) => input.stagePosition)].sort(([a], [b]) => a - b);
  if (action !== 'DEPLOY' && action !== 'RESTART') stages.reverse();
  return stages.map(([, members]) => ({
    name: members[0]?.stageName ?? '',
    tasks: members.map((input) => ({
      serviceId: input.serviceId,
      ...kindOfService(input.serviceType, input.config).steps(action, input),
    })),
  }));
}
