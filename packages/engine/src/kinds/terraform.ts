import type { Action, ReleaseConfig, TerraformAction, TerraformReleaseSource } from '../model.ts';
import type { StepName } from '../plan/plan.ts';
import type { Kind, Refusal } from './kind.ts';

/** Returns the Terraform source of a release; null if the release is no Terraform configuration. */
export function terraformSourceOf({ source }: Pick<ReleaseConfig, 'source'>): TerraformReleaseSource | null {
  return source.type === 'TERRAFORM' ? source : null;
}

/** Returns the Terraform action of a deployment with this action. A removal without further options destroys. */
export function terraformAction(action: Action, config: ReleaseConfig | null): TerraformAction {
  const asked = (config === null ? null : terraformSourceOf(config))?.action ?? 'APPLY';
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

const nothingRuns: Refusal = {
  reason: 'is a Terraform configuration: nothing of it runs that could be stopped or restarted. Leave it out.',
  isLeftOut: true,
};

/** A Terraform configuration. Nothing is built, and nothing runs that could be stopped or restarted. */
export const terraformKind: Kind = {
  name: 'TERRAFORM',
  steps(action, { config }) {
    const isNothing = action === 'STOP' || action === 'RESTART';
    return { build: [], deploy: isNothing ? [] : steps[terraformAction(action, config)] };
  },
  refusals: { STOP: nothingRuns, RESTART: nothingRuns },
  hasLastingInstances: false,
  hasOwnContainers: false,
  isServing: false,
  hasImage: false,
  isRedeployedWithoutImage: false,
  isExecuted: true,
  runsWhenTakenDown: false,
  variableWord: 'APPLICATION',
  credentials(config) {
    const token = terraformSourceOf(config)?.git.gitTokenId ?? null;
    return { registry: null, gitTokens: token === null ? [] : [token] };
  },
  values: (config) => terraformSourceOf(config)?.variables ?? [],
};
