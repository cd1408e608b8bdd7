import { kinds, operations, serviceOperations, type Operation, type ServedType } from '@davit/contract';
import type { ChartService } from '@davit/engine/port';
import type { Needs } from '../../deps.ts';
import type { ServiceDeps } from './deps.ts';
import type { AnyCall } from '../../http/call.ts';
import { OtherStatus, type Mounting } from '../../http/mount.ts';
import * as action from './facets/action/action.ts';
import { listApplications, removeApplication } from './facets/database/applications.ts';
import * as database from './facets/database/database.ts';
import type { Removal } from './facets/action/terraform.ts';
import { assertVisible, readHistory, readOldHistory } from './facets/history/history.ts';
import * as settings from './facets/settings/settings.ts';
import { readLinks } from './facets/link/link.ts';
import { readLog } from './facets/log/log.ts';
import { searchLog } from './facets/log/search.ts';
import { compareReleases, readRelease } from './facets/release/release.ts';
import { readMetrics } from './facets/metrics/metrics.ts';
import { listTerraformResources } from './facets/terraform/resources.ts';
import { listStatuses, readServiceStatus } from './facets/status/status.ts';
import type { ServiceReference } from './lock.ts';
import { listOutdated } from './facets/status/outdated.ts';
import { listServicesOfType } from './list.ts';
import * as service from './service.ts';
import type { SettingsType } from './shapes/advanced-settings.ts';

type RoutesDeps = ServiceDeps & Needs<never, settings.DefaultedSetting>;

/**
 * Mounts all operations on services by their type. `deployment` mounts the operations on the services of an
 * environment, and `variable` those on variables.
 */
export function mountService(mounting: Mounting, deps: RoutesDeps): void {
  for (const kind of Object.values(kinds)) mountKind(mounting, deps, kind);
  mounting.on(operations.listTerraformVersions, async () => ({ results: [...(await deps.engine.terraformVersions())] }));
  mounting.on(operations.searchServiceLog, ({ caller, params, query, gone }) =>
    searchLog(deps, caller, params.serviceId, { query, gone: gone() }),
  );
  mounting
    .on(operations.getServiceRelease, ({ caller, params }) => readRelease(deps, caller, params))
    .on(operations.compareServiceReleases, ({ caller, params, query }) => compareReleases(deps, caller, params.serviceId, query));
  mounting.on(operations.getTerraformResources, ({ caller, params }) => listTerraformResources(deps, caller, params.terraformId));
  mounting.on(operations.getHelmKubernetesServices, async ({ caller, params }) => {
    await assertVisible(deps, caller, params.helmId, 'HELM');
    return { results: (await deps.engine.chartServices(deps.database, params.helmId)).map(toKubernetesService) };
  });
  const defaults = (type: SettingsType) => async () => settings.defaultSettings(deps, type);
  mounting
    .onAny(operations.getDefaultApplicationAdvancedSettings, defaults('APPLICATION'))
    .onAny(operations.getDefaultContainerAdvancedSettings, defaults('CONTAINER'))
    .onAny(operations.getDefaultHelmAdvancedSettings, defaults('HELM'))
    .onAny(operations.getDefaultJobAdvancedSettings, defaults('JOB'))
    .onAny(operations.getDefaultTerraformAdvancedSettings, defaults('TERRAFORM'));
}

function toKubernetesService({ name, type, ports, selectors }: ChartService) {
  return {
    metadata: { name },
    service_spec: {
      type,
      ports: ports.map((one) => ({ port: one.port, ...(one.name !== null && { name: one.name }) })),
      selectors: Object.entries(selectors).map(([key, value]) => ({ key, value })),
    },
  };
}

function mountKind(mounting: Mounting, deps: RoutesDeps, { type, noun }: (typeof kinds)[ServedType]): void {
  const handlers = sharedHandlers(deps);
  const reference = ({ params }: AnyCall): ServiceReference => ({ id: params[`${noun}Id`] ?? '', type });
  for (const [role, operation] of Object.entries(serviceOperations[type])) {
    if (servedElsewhere.has(role)) continue;
    const handler = handlers[role];
    if (handler === undefined) throw new Error(`nothing serves the role ${role} of ${operation.id}`);
    mounting.onAny(operation, (call) => handler(call, reference(call)));
  }
}

/** Roles that other resources serve for all kinds, as the roles need more than the service. `mountRole` mounts them. */
const servedElsewhere: ReadonlySet<string> = new Set([
  'clone',
  'customDomains',
  'customDomain',
  'createCustomDomain',
  'editCustomDomain',
  'deleteCustomDomain',
  'checkCustomDomains',
]);

/** Mounts a role of `servedElsewhere` for each kind that has the role. */
export function mountRole(
  mounting: Mounting,
  role: string,
  handler: (call: AnyCall, reference: ServiceReference) => Promise<unknown>,
): void {
  for (const { type, noun } of Object.values(kinds)) {
    const operation = Object.entries<Operation>(serviceOperations[type]).find(([name]) => name === role)?.[1];
    if (operation === undefined) continue;
    mounting.onAny(operation, (call) => handler(call, { id: call.params[`${noun}Id`] ?? '', type }));
  }
}

type SharedHandler = (call: AnyCall, reference: ServiceReference) => Promise<unknown>;

/**
 * Returns the handlers by role; see `*-operations.ts` of the contract's `service/`. In operations on an environment the
 * reference has a type only.
 */
function sharedHandlers(deps: RoutesDeps): Readonly<Record<string, SharedHandler>> {
  const dryRun = ({ query }: AnyCall): boolean => query['dry_run'] === true;
  const location = ({ params }: AnyCall, type: string) => ({ environmentId: params['environmentId'] ?? '', type });
  return {
    list: (call, { type }) =>
      (call.query['toUpdate'] === true ? listOutdated : listServicesOfType)(deps, call.caller, location(call, type)),
    create: (call, { type }) => service.createService(deps, call.caller, location(call, type), named(call.body)),
    read: ({ caller }, reference) => service.readService(deps, caller, reference),
    edit: ({ caller, body }, reference) => service.editService(deps, caller, reference, named(body)),
    delete: ({ caller, query }, reference) => action.deleteService(deps, caller, reference, removal(query)),
    deploy: (call, reference) =>
      action.deployService(deps, call.caller, reference, { body: call.body, query: call.query, dryRun: dryRun(call) }),
    redeploy: (call, reference) =>
      action.redeployService(deps, call.caller, reference, { query: call.query, dryRun: dryRun(call) }),
    restart: (call, reference) => action.restartService(deps, call.caller, reference, dryRun(call)),
    stop: (call, reference) => action.stopService(deps, call.caller, reference, dryRun(call)),
    uninstall: async ({ caller, query }, reference) =>
      (await action.uninstallService(deps, caller, reference, removal(query))) ?? new OtherStatus(204),
    status: ({ caller }, reference) => readServiceStatus(deps, caller, reference),
    statuses: (call, { type }) => listStatuses(deps, call.caller, location(call, type)),
    history: ({ caller, query }, reference) => readHistory(deps, caller, reference, query),
    advancedSettings: ({ caller }, reference) => settings.readSettings(deps, caller, reference),
    network: ({ caller }, reference) => settings.readNetwork(deps, caller, reference),
    editNetwork: ({ caller, body }, reference) => settings.editNetwork(deps, caller, reference, toMembers(body)),
    editAdvancedSettings: ({ caller, body }, reference) => settings.editSettings(deps, caller, reference, toMembers(body)),
    oldHistory: ({ caller, query }, reference) => readOldHistory(deps, caller, reference, text(query['startId'])),
    links: ({ caller }, reference) => readLinks(deps, caller, reference),
    credentials: ({ caller }, reference) => database.readCredentials(deps, caller, reference),
    versions: ({ caller }, reference) => database.listVersions(deps, caller, reference),
    configuration: (call, { type }) => database.listConfiguration(deps, call.caller, location(call, type).environmentId),
    metrics: ({ caller, query }, reference) => readMetrics(deps, caller, reference, wholeNumber(query['minutes'])),
    applications: ({ caller }, reference) => listApplications(deps, caller, reference),
    removeApplication: ({ caller, params }, reference) =>
      removeApplication(deps, caller, reference, params['targetApplicationId'] ?? ''),
    log: ({ caller, query }, reference) => readLog(deps, caller, reference, wholeNumber(query['tail'])),
  };
}

// The body was checked against the contract.
function named(body: unknown): service.NewService {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return body as service.NewService;
}

/** Returns the removal options. Only Terraform configurations have them. */
function removal(query: AnyCall['query']): Removal {
  return { skipDestroy: query['force_terraform_action'] === 'SKIP_DESTROY', resourcesOnly: query['resources_only'] === true };
}

function toMembers(body: unknown): Readonly<Record<string, unknown>> {
  return typeof body === 'object' && body !== null ? { ...body } : {};
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function wholeNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
