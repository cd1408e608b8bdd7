import type { Kind } from '../kind.ts';
import type { Refusal } from '../traits.ts';
import { keepRuns, keepTerraform } from './keep.ts';
import { planTerraform, terraformSourceOf, type TerraformStep } from './plan.ts';
import { destroy, forget, migrate, obtain, settle, terraformApply, terraformPlan, unlock } from './steps.ts';

const nothingRuns: Refusal = {
  reason: 'is a Terraform configuration: it has no instances to stop or restart. Leave it out.',
  isLeftOut: true,
};

/** A Terraform configuration. */
export const terraformKind: Kind<TerraformStep> = {
  name: 'TERRAFORM',
  serviceTypes: ['TERRAFORM'],
  owns: (config) => config.job === undefined && terraformSourceOf(config) !== null,
  steps: {
    obtain,
    'terraform-plan': terraformPlan,
    'terraform-apply': terraformApply,
    settle,
    destroy,
    forget,
    unlock,
    migrate,
  },
  plan: planTerraform,
  refusals: { STOP: nothingRuns, RESTART: nothingRuns },
  keep: keepTerraform,
  keepRemains: keepRuns,
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
  // An uninstalled configuration has no release left that names the action.
  terraformAction: (action, recorded) => recorded ?? (action === 'DEPLOY' ? 'APPLY' : 'DESTROY'),
};
