import { operations } from '@davit/contract';
import type { Deps } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import { cloneEnvironment } from './clone.ts';

export function mountClone(mounting: Mounting, deps: Deps): void {
  mounting.on(operations.cloneEnvironment, ({ caller, params, body }) =>
    cloneEnvironment(deps, caller, params.environmentId, body),
  );
}
