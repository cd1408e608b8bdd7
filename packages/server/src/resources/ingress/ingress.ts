import { ingressTypes, type operations, type Response } from '@davit/contract';
import type { ReleaseConfig, ServedRoute, ServiceView } from '@davit/engine/port';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { certificateStatuses, type CertificateWord } from '../custom-domain/index.ts';
import { readVisibleFacts, type ServiceReference } from '../service/index.ts';
import { derivedId } from '../shared/derived-id.ts';
import { notFound } from '../shared/problems.ts';

type Ingress = Response<(typeof operations)['getIngressDeploymentStatus']>;
type StatusWord = NonNullable<Ingress['status']>;
type Port = ReleaseConfig['ports'][number];

/**
 * Returns whether the gateway serves a service, as shown by its routes and certificates. Fails with NOT_FOUND, also for
 * a type without routes.
 */
export async function readIngressStatus(
  deps: Needs<'database' | 'engine', 'acme' | 'gatewayHttpsPort'>,
  caller: Caller,
  reference: ServiceReference,
): Promise<Ingress> {
  const type = ingressTypes.find((one) => one === reference.type.toUpperCase());
  if (type === undefined) throw notFound('service');
  const { id, driver } = await readVisibleFacts(deps.database, caller, { id: reference.id, type });
  const { database, engine } = deps;
  const config = await engine.deployedConfig(database, id);
  const [view] = await engine.services(database, [id]);
  if (view === undefined) throw new Error(`the engine has no view of service ${id}`);
  const ports = (config?.ports ?? []).filter(isRouted);
  const hosts = ports.flatMap(({ customHosts = [] }) => customHosts);
  const certificates = hosts.length === 0 ? [] : await certificateStatuses(deps, id, new Set(hosts));
  const status = ingressStatus({
    view,
    ports,
    isDeployed: config !== null,
    routes: engine.servedRoutes(driver, id),
    certificates,
  });
  return ports.length === 0 ? { status } : { routerId: derivedId('router', id), status };
}

function isRouted({ public: isPublic, protocol, hosts, externalPort }: Port): boolean {
  if (!isPublic || protocol === 'UDP') return false;
  return protocol === 'TCP' ? externalPort !== null : hosts.length > 0;
}

/** The facts that determine the status. */
export interface IngressFacts {
  readonly view: Pick<ServiceView, 'state' | 'actionStatus' | 'runningStatus' | 'wantedInstances' | 'runningInstances'>;
  readonly isDeployed: boolean;
  /** Ports of the deployed release that the gateway serves. */
  readonly ports: readonly Pick<Port, 'id'>[];
  /** Null: the gateway belongs to another process, so its routes are unknown. */
  readonly routes: readonly ServedRoute[] | null;
  readonly certificates: readonly CertificateWord[];
}

const atWork: ReadonlySet<string> = new Set(['QUEUED', 'ONGOING', 'EXECUTING', 'CANCELING']);

/**
 * Returns the state of the service during a deployment or if nothing is deployed. Otherwise the routes and certificates
 * determine the status.
 */
export function ingressStatus({ view, isDeployed, ports, routes, certificates }: IngressFacts): StatusWord {
  if (!isDeployed || atWork.has(view.actionStatus)) return view.state;
  if (ports.length === 0) return 'READY';
  if (view.runningStatus === 'STOPPED' || view.wantedInstances === 0) return 'STOPPED';
  if (!isServed(view, ports, routes)) return 'UNAVAILABLE';
  if (certificates.some((word) => word === 'FAILED' || word === 'EXPIRED')) return 'DEPLOYMENT_ERROR';
  return certificates.some((word) => word === 'WAITING' || word === 'ISSUING') ? 'DEPLOYING' : 'DEPLOYED';
}

function isServed(
  { runningInstances }: IngressFacts['view'],
  ports: IngressFacts['ports'],
  routes: IngressFacts['routes'],
): boolean {
  // Routes exist for the ready instances, so the number of instances is nearly as informative.
  if (routes === null) return (runningInstances ?? 0) > 0;
  const backends = new Map(routes.map((route) => [route.id, route.backends]));
  return ports.every(({ id }) => (backends.get(id) ?? 0) > 0);
}
