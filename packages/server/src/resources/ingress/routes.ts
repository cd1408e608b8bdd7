import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import { readIngressStatus } from './ingress.ts';

export function mountIngress(mounting: Mounting, deps: Needs<'database' | 'engine', 'acme' | 'gatewayHttpsPort'>): void {
  mounting.on(operations.getIngressDeploymentStatus, ({ caller, params }) =>
    readIngressStatus(deps, caller, { type: params.serviceType, id: params.serviceId }),
  );
}
