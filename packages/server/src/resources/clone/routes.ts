import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import { mountRole, type RecordSettings } from '../service/index.ts';
import { cloneEnvironment } from './clone.ts';
import { cloneService, type ServiceCloneRequest } from './service.ts';

export function mountClone(
  mounting: Mounting,
  deps: Needs<'database' | 'engine' | 'vault', keyof RecordSettings | 'gatewayPort' | 'port'>,
): void {
  mounting.on(operations.cloneEnvironment, ({ caller, params, body }) =>
    cloneEnvironment(deps, caller, params.environmentId, body),
  );
  mountRole(mounting, 'clone', ({ caller, body }, reference) => cloneService(deps, caller, reference, toRequest(body)));
}

// The body has already been validated against the contract.
function toRequest(body: unknown): ServiceCloneRequest {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return body as ServiceCloneRequest;
}
