import type { Action, ReleaseConfig, TerraformAction } from '../model.ts';
import type { StepName } from './plan.ts';

/** What a Terraform configuration is run for in a deployment of that action. A removal without more destroys. */
export function terraformAction(action: Action, config: ReleaseConfig | null): TerraformAction {
  const asked = config?.source.type === 'TERRAFORM' ? config.source.action : 'APPLY';
  if (action === 'DEPLOY') return asked;
  return asked === 'FORGET' ? 'FORGET' : 'DESTROY';
}

const steps: Readonly<Record<TerraformAction, readonly StepName[]>> = {
  APPLY: ['obtain', 'terraform-plan', 'terraform-apply', 'settle'],
  PLAN: ['obtain', 'terraform-plan'],
  FORCE_UNLOCK: ['unlock'],
  MIGRATE_STATE: ['obtain', 'migrate'],
  DESTROY: ['destroy', 'forget'],
  FORGET: ['forget'],
};

/** Nothing is built, and nothing runs that could be stopped or restarted. */
export function terraformSteps(action: Action, config: ReleaseConfig | null): readonly StepName[] {
  return action === 'STOP' || action === 'RESTART' ? [] : steps[terraformAction(action, config)];
}
