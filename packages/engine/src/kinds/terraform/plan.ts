import type { Action, ReleaseConfig, TerraformAction, TerraformReleaseSource } from '../../model.ts';
import type { Steps, StepsInput } from '../../plan/plan.ts';

export type TerraformStep =
  | 'obtain'
  | 'terraform-plan'
  | 'terraform-apply'
  | 'settle'
  | 'destroy'
  | 'forget'
  | 'unlock'
  | 'migrate';

/** Returns the Terraform source of a release; null if the release is no Terraform configuration. */
export function terraformSourceOf({ source }: Pick<ReleaseConfig, 'source'>): TerraformReleaseSource | null {
  return source.type === 'TERRAFORM' ? source : null;
}

/** Returns the Terraform action of a deployment with this action. A removal without further options destroys. */
export function terraformAction(action: Action, config: ReleaseConfig | null): TerraformAction {
  const requested = (config === null ? null : terraformSourceOf(config))?.action ?? 'APPLY';
  if (action === 'DEPLOY') return requested;
  return requested === 'FORGET' ? 'FORGET' : 'DESTROY';
}

const steps: Readonly<Record<TerraformAction, readonly TerraformStep[]>> = {
  APPLY: ['obtain', 'terraform-plan', 'terraform-apply', 'settle'],
  PLAN: ['obtain', 'terraform-plan'],
  FORCE_UNLOCK: ['unlock'],
  MIGRATE_STATE: ['obtain', 'migrate'],
  DESTROY: ['destroy', 'forget'],
  FORGET: ['forget'],
};

/** Nothing is built, and nothing runs that could be stopped or restarted. */
export function planTerraform(action: Action, { config }: StepsInput): Steps<TerraformStep> {
  const isNothing = action === 'STOP' || action === 'RESTART';
  return { build: [], deploy: isNothing ? [] : steps[terraformAction(action, config)] };
}
