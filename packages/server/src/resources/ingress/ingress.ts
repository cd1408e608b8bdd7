import { ingressTypes, type operations, type Response } from '@davit/contract';
import type { ReleaseConfig, ServedRoute, ServiceView } from '@davit/engine/port';
import type { Caller } from '../../auth/caller.ts';
import type { Deps } from '../../deps.ts';
import { certificateStatuses, type CertificateWord } from '../custom-domain/index.ts';
import { visibleFacts, type ServiceReference } from '../service/index.ts';
import { derivedId } from '../shared/derived-id.ts';
import { notFound } from '../shared/problems.ts';

type Ingress = Response<(typeof operations)['getIngressDeploymentStatus']>;
type StatusWord = NonNullable<Ingress['status']>;
type Port = ReleaseConfig['ports'][number];

/** Whether the gateway serves a service, by its routes and certificates. NOT_FOUND, also for a type without routes. */
export async function readIngressStatus(deps: Deps, caller: Caller, reference: ServiceReference): Promise<Ingress> {
  const type = ingressTypes.find((one) => one === reference.type.toUpperCase());
  if (type === undefined) throw notFound('service');
  const { id, driver } = await visibleFacts(deps, caller, { id: reference.id, type });
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

/** What decides. */
export interface IngressFacts {
  readonly view: Pick<ServiceView, 'state' | 'actionStatus' | 'runningStatus' | 'wantedInstances' | 'runningInstances'>;
  readonly isDeployed: boolean;
  /** Of what is deployed: those that the gateway serves. */
  readonly ports: readonly Pick<Port, 'id'>[];
  /** null: the gateway is another process's to know. */
  readonly routes: readonly ServedRoute[] | null;
  readonly certificates: readonly CertificateWord[];
}

const atWork: ReadonlySet<string> = new Set(['QUEUED', 'ONGOING', 'EXECUTING', 'CANCELING']);

/** While a deployment is under way or nothing is deployed, the word of the service; otherwise what routes and certificates say. */
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
  // Routes follow the instances that are ready, so their number tells nearly as much.
  if (routes === null) return (runningInstances ?? 0) > 0;
  const backends = new Map(routes.map((route) => [route.id, route.backends]));
  return ports.every(({ id }) => (backends.get(id) ?? 0) > 0);
}
