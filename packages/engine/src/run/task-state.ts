import { stepMetrics, type PlannedTask, type StepName } from '../plan/plan.ts';
import type { Phase } from '../states.ts';
import type { Task } from '../steps/index.ts';

/** How far one service of a deployment is. */
export interface TaskState {
  readonly task: Task;
  readonly plan: PlannedTask;
  phase: Phase;
  readonly done: Set<StepName>;
}

/** Whether former instances are stopped behind the service's success. */
export function retires({ plan }: TaskState): boolean {
  return plan.deploy.at(-1) === 'retire';
}

export function positionOf(plan: PlannedTask, name: StepName): number {
  return [...plan.build, ...plan.deploy].indexOf(name);
}

export function journalRows(member: TaskState): { service_id: string; position: number; name: StepName; metric: string }[] {
  return [...member.plan.build, ...member.plan.deploy].map((name, position) => ({
    service_id: member.task.serviceId,
    position,
    name,
    metric: stepMetrics[name],
  }));
}
