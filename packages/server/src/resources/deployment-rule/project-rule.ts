import { randomUUID } from 'node:crypto';
import type { Body, operations, Response } from '@davit/contract';
import { isForeignKeyViolation, type Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { readProject } from '../project/index.ts';
import { refuseTakenName } from '../shared/naming.ts';
import { invalid, invalidReference, notFound } from '../shared/problems.ts';
import * as store from './store.ts';
import { checkedWindow } from './window.ts';

type Rule = Response<(typeof operations)['getProjectDeploymentRule']>;
type Rules = Response<(typeof operations)['listProjectDeploymentRules']>;
type RuleRequest = Body<(typeof operations)['createDeploymentRule']>;
type OrderRequest = Body<(typeof operations)['updateDeploymentRulesPriorityOrder']>;

interface RuleIds {
  readonly projectId: string;
  readonly deploymentRuleId: string;
}

export async function listRules(deps: Needs<'database'>, caller: Caller, projectId: string): Promise<Rules> {
  const rows = await deps.database.many(store.listProjectRules, [projectId, caller.organizationId]);
  // An empty list does not show whether the project exists.
  if (rows.length === 0) await readProject(deps, caller, projectId);
  return { results: rows.map(toRule) };
}

export async function readRule(deps: Needs<'database'>, caller: Caller, ids: RuleIds): Promise<Rule> {
  return toRule(await ruleRow(deps.database, caller, ids));
}

/**
 * Adds a rule at the end of the order. Fails with NAME_TAKEN, or INVALID_REFERENCE for a cluster of another
 * organization.
 */
export async function createRule(
  deps: Needs<'database'>,
  caller: Caller,
  projectId: string,
  request: RuleRequest,
): Promise<Rule> {
  const ids = { projectId, deploymentRuleId: randomUUID() };
  return write(request, () =>
    deps.database.transaction(async (tx) => {
      const organizationId = await lockProject(tx, caller, projectId);
      const values = await ruleValues(tx, organizationId, request, false);
      await tx.run(store.createProjectRule, [ids.deploymentRuleId, projectId, ...values]);
      return toRule(await ruleRow(tx, caller, ids));
    }),
  );
}

/** Edits a rule. Fields that the request omits stay. Environments that got the rule earlier keep their copy. */
export async function editRule(deps: Needs<'database'>, caller: Caller, ids: RuleIds, request: RuleRequest): Promise<Rule> {
  return write(request, () =>
    deps.database.transaction(async (tx) => {
      const organizationId = await lockProject(tx, caller, ids.projectId);
      const former = await ruleRow(tx, caller, ids);
      const kept = {
        ...request,
        description: request.description === undefined ? (former.description ?? null) : request.description,
        wildcard: request.wildcard === undefined ? former.wildcard : request.wildcard,
      };
      const values = await ruleValues(tx, organizationId, kept, former.auto_stop);
      await tx.run(store.editProjectRule, [ids.deploymentRuleId, ids.projectId, ...values]);
      return toRule(await ruleRow(tx, caller, ids));
    }),
  );
}

export async function deleteRule(deps: Needs<'database'>, caller: Caller, ids: RuleIds): Promise<void> {
  await deps.database.transaction(async (tx) => {
    await lockProject(tx, caller, ids.projectId);
    if ((await tx.run(store.deleteProjectRule, [ids.deploymentRuleId, ids.projectId])) === 0) {
      throw notFound('deployment rule');
    }
  });
}

/**
 * Sets the order of all rules of the project. The request must name each rule once, because a partial list would not
 * define where the others go.
 */
export async function orderRules(
  deps: Needs<'database'>,
  caller: Caller,
  projectId: string,
  request: OrderRequest,
): Promise<void> {
  const wanted = (request.project_deployment_rule_ids_in_order ?? []).map((id) => id.toLowerCase());
  const path = 'project_deployment_rule_ids_in_order';
  await deps.database.transaction(async (tx) => {
    await lockProject(tx, caller, projectId);
    const rules = await tx.many(store.listProjectRules, [projectId, caller.organizationId]);
    const known = new Set(rules.map(({ id }) => id));
    const unknown = wanted.findIndex((id) => !known.has(id));
    if (unknown !== -1) throw invalidReference(`${path}.${unknown}`, 'is not the id of a deployment rule of this project');
    const twice = wanted.findIndex((id, index) => wanted.indexOf(id) !== index);
    if (twice !== -1) throw invalid(`${path}.${twice}`, 'is named twice; name each rule once');
    const missing = rules.find(({ id }) => !wanted.includes(id));
    if (missing !== undefined) throw invalid(path, `must name all deployment rules of the project; ${missing.name} is missing`);
    await tx.run(store.orderProjectRules, [projectId, wanted]);
  });
}

async function ruleValues(
  tx: Queryable,
  organizationId: string,
  request: RuleRequest,
  formerAutoStop: boolean,
): Promise<unknown[]> {
  const autoStop = request.auto_stop ?? formerAutoStop;
  const window = checkedWindow(request, autoStop);
  if ((await tx.maybe(store.findCluster, [request.cluster_id, organizationId])) === undefined) {
    throw invalidReference('cluster_id', 'is not the id of a cluster of this organization');
  }
  return [
    request.cluster_id,
    request.name,
    request.description ?? null,
    request.mode,
    autoStop,
    window.timezone,
    window.start_time,
    window.stop_time,
    window.weekdays,
    request.wildcard ?? '',
  ];
}

/**
 * Locks the rules of a project and returns its organization. Changes are serialized, because the rules have an order.
 */
async function lockProject(tx: Queryable, caller: Caller, projectId: string): Promise<string> {
  const row = await tx.maybe(store.lockProject, [projectId, caller.organizationId]);
  if (row === undefined) throw notFound('project');
  return row.organization_id;
}

async function ruleRow(db: Queryable, caller: Caller, ids: RuleIds): Promise<store.ProjectRuleRow> {
  const row = await db.maybe(store.readProjectRule, [ids.projectId, caller.organizationId, ids.deploymentRuleId]);
  if (row === undefined) throw notFound('deployment rule');
  return row;
}

async function write(request: RuleRequest, action: () => Promise<Rule>): Promise<Rule> {
  const taken = { index: 'project_rule_name', noun: 'deployment rule', name: request.name, where: 'in this project' };
  try {
    return await refuseTakenName(taken, action);
  } catch (error) {
    // The cluster was deleted at the same moment.
    if (isForeignKeyViolation(error)) throw invalidReference('cluster_id', 'is not the id of a cluster of this organization');
    throw error;
  }
}

function toRule({ position, ...row }: store.ProjectRuleRow): Rule {
  return { ...row, weekdays: [...row.weekdays], priority_index: position };
}
