import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as environment from './environment.ts';

export function mountEnvironment(mounting: Mounting, deps: Needs<'database'>): void {
  mounting
    .on(operations.listEnvironment, ({ caller, params }) => environment.listEnvironments(deps, caller, params.projectId))
    .on(operations.createEnvironment, ({ caller, params, body }) =>
      environment.createEnvironment(deps, caller, params.projectId, body),
    )
    .on(operations.getEnvironment, ({ caller, params }) => environment.readEnvironment(deps, caller, params.environmentId))
    .on(operations.editEnvironment, ({ caller, params, body }) =>
      environment.editEnvironment(deps, caller, params.environmentId, body),
    );
}
