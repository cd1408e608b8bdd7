import type { Body, operations, Response } from '@davit/contract';
import type { Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { openEnvironment } from '../environment/index.ts';
import { notFound } from '../shared/problems.ts';
import * as store from './store.ts';
import { checkedWindow } from './window.ts';

type Rule = Response<(typeof operations)['getEnvironmentDeploymentRule']>;
type EditRequest = Body<(typeof operations)['editEnvironmentDeploymentRule']>;

/**
 * Returns the rule of an environment. An environment has exactly one rule, which has the id of the environment. A rule
 * that was never set starts and stops nothing.
 */
export async function readRule(deps: Needs<'database'>, caller: Caller, environmentId: string): Promise<Rule> {
  return toRule(await ruleRow(deps.database, caller, environmentId));
}

/**
 * Edits the rule. Fields that the request omits stay. The change takes effect at the next start or stop time; nothing
 * happens at once.
 */
export async function editRule(
  deps: Needs<'database'>,
  caller: Caller,
  { environmentId, deploymentRuleId }: { readonly environmentId: string; readonly deploymentRuleId: string },
  request: EditRequest,
): Promise<Rule> {
  return deps.database.transaction(async (tx) => {
    await openEnvironment(tx, caller, environmentId, 'order');
    if (deploymentRuleId !== environmentId) throw notFound('deployment rule');
    const former = await ruleRow(tx, caller, environmentId);
    const autoStop = request.auto_stop ?? former.auto_stop;
    const window = checkedWindow(request, autoStop);
    await tx.run(store.beginEnvironmentRule, [environmentId]);
    await tx.run(store.writeEnvironmentRule, [
      environmentId,
      request.on_demand_preview ?? former.on_demand_preview,
      autoStop,
      window.timezone,
      window.start_time,
      window.stop_time,
      window.weekdays,
    ]);
    // Rule and environment share their id. The rule is written first, because its version is the one that `If-Match`
    // may expect.
    if (typeof request.auto_preview === 'boolean') await tx.run(store.setAutoPreview, [environmentId, request.auto_preview]);
    return toRule(await ruleRow(tx, caller, environmentId));
  });
}

async function ruleRow(db: Queryable, caller: Caller, environmentId: string): Promise<store.EnvironmentRuleRow> {
  const row = await db.maybe(store.readEnvironmentRule, [environmentId, caller.organizationId]);
  if (row === undefined) throw notFound('environment');
  return row;
}

function toRule({ environment_id, ...row }: store.EnvironmentRuleRow): Rule {
  return { id: environment_id, ...row, weekdays: [...row.weekdays] };
}
