import type { ServiceScope } from '@davit/contract';
import type { Needs } from '../../../../deps.ts';
import type { ReleaseSettings } from '../../release.ts';
import type { ServiceOwners, VariableOwner } from '../../../variable/index.ts';
import { lockService } from '../../lock.ts';
import { serviceBuiltIns } from '../../release.ts';
import type { ServiceFacts } from '../../rows.ts';
import { readVisibleFacts } from '../../visible.ts';

/** Returns the lookup by which variables find services of every type. */
export function serviceOwners(deps: Needs<'engine', keyof ReleaseSettings>): ServiceOwners {
  return {
    read: async (db, caller, { id, scope }) => {
      const facts = await readVisibleFacts(db, caller, { id, type: scope });
      return toOwner(deps, facts, scope);
    },
    hold: async (tx, caller, { id, scope }) =>
      toOwner(deps, await lockService(deps, tx, caller, { id, type: scope, purpose: 'add' }), scope),
  };
}

function toOwner({ config }: Needs<never, keyof ReleaseSettings>, facts: ServiceFacts, type: ServiceScope): VariableOwner {
  return {
    organizationId: facts.organization_id,
    projectId: facts.project_id,
    environmentId: facts.environment_id,
    mode: facts.environment_mode,
    service: { id: facts.id, name: facts.name, type },
    builtIns: serviceBuiltIns(facts, config),
  };
}
