import { AppError } from '@davit/base';
import type { Queryable } from '@davit/db';
import { canSee, type Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { kindOf } from './kinds/index.ts';
import type { ServiceRow } from './rows.ts';
import { hostPorts, isRouted, type PortSpec } from './shapes/ports.ts';
import { claimHostPorts, freeHostPort, lockFreePorts, readForeignHostPorts, releaseHostPorts } from './store.ts';

export interface HostPortClaim {
  readonly serviceId: string;
  readonly driver: string;
  readonly ports: readonly PortSpec[];
}

/**
 * Claims exactly the machine's ports that the spec names for the service, and releases its other ones. Fails with
 * IN_USE if another service has one of them.
 */
export async function claimPorts(tx: Queryable, caller: Caller, { serviceId, driver, ports }: HostPortClaim): Promise<void> {
  const wanted = hostPorts(ports);
  const transports = wanted.map(({ transport }) => transport);
  const numbers = wanted.map(({ port }) => port);
  await tx.run(releaseHostPorts, [serviceId, transports, numbers]);
  if (wanted.length === 0) return;
  await tx.run(claimHostPorts, [driver, serviceId, transports, numbers]);
  const [taken] = await tx.many(readForeignHostPorts, [driver, serviceId, transports, numbers]);
  if (taken === undefined) return;
  const index = wanted.find(({ transport, port }) => transport === taken.transport && port === taken.port)?.index ?? 0;
  // The caller must not learn the name of a service that the caller may not see.
  const by = canSee(caller, taken.organization_id) ? `the service ${JSON.stringify(taken.service_name)}` : 'another service';
  const message = `is ${taken.transport} port ${taken.port} of this machine, which is used by ${by}; choose another`;
  const path = `ports.${index}.external_port`;
  throw new AppError({ code: 'IN_USE', message: `${path} ${message}`, errors: [{ path, message }] });
}

/**
 * Offset at which the search for a free port begins (15432 for 5432), as services of the machine itself use the
 * well-known ports.
 */
const assignedFrom = 10_000;

/** Assigns a free port of the machine to each public TCP or UDP port for which the user chose none. */
export async function withAssignedPorts(
  deps: Needs<never, 'gatewayPort' | 'port'>,
  tx: Queryable,
  { type, driver, spec }: Pick<ServiceRow, 'type' | 'driver' | 'spec'>,
): Promise<ServiceRow['spec']> {
  const wanted = kindOf(type).workload(spec).ports;
  const isOpen = (port: PortSpec): boolean => port.publicly_accessible && !isRouted(port) && port.external_port === null;
  if (!wanted.some(isOpen)) return spec;
  await tx.run(lockFreePorts, [driver]);
  const taken: number[] = [deps.config.gatewayPort, deps.config.port];
  const ports: PortSpec[] = [];
  for (const port of wanted) {
    const near = (port.internal_port + assignedFrom) % 65_536;
    const free = isOpen(port) ? await tx.maybe(freeHostPort, [driver, port.protocol, taken, near]) : undefined;
    if (free !== undefined) taken.push(free.port);
    ports.push(free === undefined ? port : { ...port, external_port: free.port });
  }
  // Every spec whose workload has ports keeps them in this member.
  return Object.assign({}, spec, { ports });
}
