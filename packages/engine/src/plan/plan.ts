import type { Action, JobEvent, ReleaseConfig } from '../model.ts';

/** Name of a step. It is unique among the steps of all kinds. */
export type StepName = string;

/** The steps of a service in a deployment, in the order in which they run. */
export interface Steps<Name extends StepName = StepName> {
  /** Steps that are done for all services of a stage before any of them is deployed. */
  readonly build: readonly Name[];
  readonly deploy: readonly Name[];
}

/** The input that a kind's steps depend on. */
export interface StepsInput {
  /** The configuration to run; null if the action needs none. */
  readonly config: ReleaseConfig | null;
  /** Whether the release already has its image: a rollback or a restart. */
  readonly hasImage: boolean;
  /** The event of a job that was requested explicitly. */
  readonly event?: JobEvent | null;
}

export interface PlanInput extends StepsInput {
  readonly serviceId: string;
  readonly stageName: string;
  readonly stagePosition: number;
  /** Type of the service, as the API has it. */
  readonly serviceType?: string;
}

/** Knows the steps of each service, from its kind. */
interface Planner {
  plan(action: Action, input: PlanInput): Steps;
}

export interface PlannedTask extends Steps {
  readonly serviceId: string;
}

export interface PlannedStage {
  readonly name: string;
  readonly tasks: readonly PlannedTask[];
}

/** Returns the stages in the order in which they run: by position, in reverse when services are taken down. */
export function planStages(kinds: Planner, action: Action, inputs: readonly PlanInput[]): PlannedStage[] {
  const stages = [...Map.groupBy(inputs, (input) => input.stagePosition)].sort(([a], [b]) => a - b);
  if (action !== 'DEPLOY' && action !== 'RESTART') stages.reverse();
  return stages.map(([, members]) => ({
    name: members[0]?.stageName ?? '',
    tasks: members.map((input) => ({ serviceId: input.serviceId, ...kinds.plan(action, input) })),
  }));
}
