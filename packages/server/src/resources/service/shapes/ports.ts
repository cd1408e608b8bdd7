import type { ReleasePort } from '@davit/engine/port';
import type { Problems } from '../../shared/problems.ts';
import { leavesRoot } from '../../shared/problems.ts';
import { portLabel } from '../address.ts';
import { identities, refuseDuplicates } from './identity.ts';
import type { PortRequest } from './request.ts';

/** A port as stored. */
export interface PortSpec {
  readonly id: string;
  readonly name: string;
  readonly internal_port: number;
  readonly external_port: number | null;
  readonly publicly_accessible: boolean;
  readonly is_default: boolean;
  readonly protocol: ReleasePort['protocol'];
  readonly public_path: string | null;
  readonly public_path_rewrite: string | null;
}

/** Ports of this machine that services cannot use, each with its user. */
export type ReservedPorts = ReadonlyMap<number, string>;

// Paths that the gateway accepts. Narrower than RFC 3986, as the path is written to a configuration file.
const gatewayPath = /^\/(?:[A-Za-z0-9._~!&*+=:@/-]|%[0-9A-Fa-f]{2})*$/;
// Paths that Kubernetes refuses in an Ingress (`Prefix`) and an HTTPRoute (`PathPrefix`), beside `..`. They are refused
// on every cluster, including this machine: if the environment moved to another cluster, that cluster would refuse them
// when the deployment can no longer be rolled back.
const unroutable = /\/\/|\/\.(?:\/|$)|%2f/i;
const httpsPort = 443;

/** Returns whether the gateway serves the port by host name. Other public ports get a port of the machine. */
export function isRouted(port: { readonly protocol: ReleasePort['protocol'] }): boolean {
  return port.protocol === 'HTTP' || port.protocol === 'GRPC';
}

export function isPublicRouted(port: PortSpec): boolean {
  return port.publicly_accessible && isRouted(port);
}

/** Returns the public TCP and UDP ports. Each of them needs a port of the machine for itself. */
export function hostPorts(
  ports: readonly PortSpec[],
): { readonly transport: 'TCP' | 'UDP'; readonly port: number; readonly index: number }[] {
  return ports.flatMap(({ publicly_accessible, protocol, external_port }, index) =>
    publicly_accessible && (protocol === 'TCP' || protocol === 'UDP') && external_port !== null
      ? [{ transport: protocol, port: external_port, index }]
      : [],
  );
}

/** Returns the ports of a request with defaults and ids. Former ports keep their ids. */
export function toPorts(
  requested: readonly PortRequest[],
  former: readonly PortSpec[],
  { problems, reserved }: { readonly problems: Problems; readonly reserved: ReservedPorts },
): readonly PortSpec[] {
  const ids = identities(
    {
      path: 'ports',
      noun: 'port',
      requested,
      former,
      requestedKey: (port) => `${port.internal_port}/${port.protocol ?? 'HTTP'}`,
      formerKey: (port) => `${port.internal_port}/${port.protocol}`,
    },
    problems,
  );
  const ports = requested.map((port, index) => toPort(port, ids[index]?.id ?? ''));
  ports.forEach((port, index) => checkPort(port, index, { problems, reserved }));
  checkTogether(ports, problems);
  return withDefault(ports);
}

function toPort(request: PortRequest, id: string): PortSpec {
  const protocol = request.protocol ?? 'HTTP';
  const isServedByGateway = request.publicly_accessible && isRouted({ protocol });
  return {
    id,
    name: request.name ?? `p${request.internal_port}`,
    internal_port: request.internal_port,
    external_port: request.external_port ?? (isServedByGateway ? httpsPort : null),
    publicly_accessible: request.publicly_accessible,
    is_default: request.is_default ?? false,
    protocol,
    public_path: request.public_path ?? null,
    public_path_rewrite: request.public_path_rewrite ?? null,
  };
}

function checkPort(
  port: PortSpec,
  index: number,
  { problems, reserved }: { readonly problems: Problems; readonly reserved: ReservedPorts },
): void {
  const at = `ports.${index}`;
  if (portLabel(port.name) === '')
    problems.add(`${at}.name`, 'must contain a letter or digit, as it becomes part of a host name');
  for (const member of ['public_path', 'public_path_rewrite'] as const) {
    const path = port[member];
    if (path === null) continue;
    if (!isRouted(port)) problems.add(`${at}.${member}`, `is only for HTTP and GRPC ports; leave it out for ${port.protocol}`);
    else if (!gatewayPath.test(path) || leavesRoot(path)) {
      problems.add(
        `${at}.${member}`,
        'must be a path of letters, digits and . _ ~ ! & * + = : @ / - (others percent-encoded), without ..',
      );
    } else if (member === 'public_path' && unroutable.test(path)) {
      problems.add(
        `${at}.${member}`,
        'must not contain //, /./, /../ or %2F, nor end with /. or /.., because no Kubernetes cluster accepts such a route',
      );
    }
  }
  if (!port.publicly_accessible || isRouted(port)) return;
  if (port.external_port === null) {
    problems.add(
      `${at}.external_port`,
      `is needed for a public ${port.protocol} port: the port of this machine that it answers on`,
    );
  } else if (port.protocol === 'TCP' && reserved.has(port.external_port)) {
    problems.add(`${at}.external_port`, `is used by ${reserved.get(port.external_port)}; choose another port`);
  }
}

function checkTogether(ports: readonly PortSpec[], problems: Problems): void {
  refuseDuplicates(
    ports.map((port) => `${port.internal_port}/${port.protocol}`),
    (index, earlier) =>
      problems.add(`ports.${index}.internal_port`, `is the same port and protocol as ports.${earlier}; declare each once`),
  );
  const taken = ports.map((port, index) => {
    const wantsHost = port.publicly_accessible && !isRouted(port) && port.external_port !== null;
    return wantsHost ? `${port.external_port}/${port.protocol}` : `no host port ${index}`;
  });
  refuseDuplicates(taken, (index, earlier) =>
    problems.add(`ports.${index}.external_port`, `is taken by ports.${earlier}; choose another port`),
  );
  const labels = ports.map((port, index) => (isPublicRouted(port) ? portLabel(port.name) : `no address ${index}`));
  refuseDuplicates(labels, (index, earlier) =>
    problems.add(`ports.${index}.name`, `leads to the same address as ports.${earlier}; give each public port a name of its own`),
  );
  const defaults = ports.flatMap((port, index) => (isPublicRouted(port) && port.is_default ? [index] : []));
  for (const index of defaults.slice(1)) {
    problems.add(`ports.${index}.is_default`, `may be true for one public port only; ports.${defaults[0]} has it already`);
  }
}

/**
 * Marks the first public port as the default unless the user chose one: the service's address without a port name must
 * always respond.
 */
function withDefault(ports: readonly PortSpec[]): readonly PortSpec[] {
  if (ports.some((port) => isPublicRouted(port) && port.is_default)) return ports;
  const first = ports.findIndex(isPublicRouted);
  return ports.map((port, index) => (index === first ? { ...port, is_default: true } : port));
}
