import type { Body, operations } from '@davit/contract';
import type { Problems } from '../../shared/problems.ts';
import { identities, refuseDuplicates } from './identity.ts';

type PortRequest = NonNullable<Body<(typeof operations)['createHelm']>['ports']>[number];

/**
 * A port of one of the chart's Kubernetes services, as stored. Exactly one of the last two members is set and selects
 * the service.
 */
export interface HelmPortSpec {
  readonly id: string;
  readonly name: string;
  readonly internal_port: number;
  readonly external_port: number | null;
  readonly namespace: string | null;
  readonly protocol: 'HTTP' | 'GRPC';
  readonly is_default: boolean;
  readonly service_name: string | null;
  readonly service_selectors: readonly { readonly key: string; readonly value: string }[] | null;
}

const httpsPort = 443;

/** Returns the ports of a request. Each port keeps the id of the former port with the same number and service. */
export function toHelmPorts(
  requested: readonly PortRequest[],
  former: readonly HelmPortSpec[],
  problems: Problems,
): readonly HelmPortSpec[] {
  const found = identities<PortRequest & { readonly id?: string }, HelmPortSpec>(
    { path: 'ports', noun: 'port', requested, former, requestedKey: keyOf, formerKey: keyOf },
    problems,
  );
  const ports = requested.map((request, index) => toPort(request, found[index]?.id ?? '', problems, `ports.${index}`));
  const marked = ports.flatMap((port, index) => (port.is_default ? [index] : []));
  for (const index of marked.slice(1)) {
    problems.add(`ports.${index}.is_default`, `may be true for one port only; ports.${marked[0]} has it already`);
  }
  refuseDuplicates(ports.map(keyOf), (index, first) =>
    problems.add(`ports.${index}.internal_port`, `is the same port of the same service as ports.${first}; declare each once`),
  );
  refuseDuplicates(
    ports.map(({ name }) => name),
    (index, first) => problems.add(`ports.${index}.name`, `is the name of ports.${first}; give each port a name of its own`),
  );
  return marked.length > 0 ? ports : ports.map((port, index) => ({ ...port, is_default: index === 0 }));
}

function toPort(request: PortRequest, id: string, problems: Problems, at: string): HelmPortSpec {
  const { service_name: name, service_selectors: selectors } = request;
  if (name && selectors) problems.add(at, 'must have exactly one of service_name and service_selectors; both are set');
  else if (!name && !selectors) {
    problems.add(
      at,
      'must have exactly one of service_name and service_selectors, which identify the Service of the port; none is set',
    );
  }
  return {
    id,
    name: request.name ?? `p${request.internal_port}`,
    internal_port: request.internal_port,
    external_port: request.external_port ?? httpsPort,
    namespace: request.namespace ?? null,
    protocol: request.protocol ?? 'HTTP',
    is_default: request.is_default ?? false,
    service_name: name ?? null,
    service_selectors: selectors ?? null,
  };
}

function keyOf(port: PortRequest | HelmPortSpec): string {
  const selectors = (port.service_selectors ?? []).map(({ key, value }) => `${key}=${value}`).sort();
  return [port.internal_port, port.namespace ?? '', port.service_name ?? '', ...selectors].join(' ');
}
