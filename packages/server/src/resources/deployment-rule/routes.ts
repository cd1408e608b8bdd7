import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as environment from './environment-rule.ts';
import * as project from './project-rule.ts';

export function mountDeploymentRule(mounting: Mounting, deps: Needs<'database'>): void {
  mounting
    .on(operations.getEnvironmentDeploymentRule, ({ caller, params }) => environment.readRule(deps, caller, params.environmentId))
    .on(operations.editEnvironmentDeploymentRule, ({ caller, params, body }) => environment.editRule(deps, caller, params, body))
    .on(operations.listProjectDeploymentRules, ({ caller, params }) => project.listRules(deps, caller, params.projectId))
    .on(operations.createDeploymentRule, ({ caller, params, body }) => project.createRule(deps, caller, params.projectId, body))
    .on(operations.updateDeploymentRulesPriorityOrder, ({ caller, params, body }) =>
      project.orderRules(deps, caller, params.projectId, body),
    )
    .on(operations.getProjectDeploymentRule, ({ caller, params }) => project.readRule(deps, caller, params))
    .on(operations.editProjectDeployemtnRule, ({ caller, params, body }) => project.editRule(deps, caller, params, body))
    .on(operations.deleteProjectDeploymentRule, ({ caller, params }) => project.deleteRule(deps, caller, params));
}
