import { kinds, serviceOperations, type ServedType } from '@davit/contract';
import type { Deps } from '../../deps.ts';
import { OtherStatus, type AnyCall, type Mounting } from '../../http/mount.ts';
import * as action from './facets/action/action.ts';
import * as database from './facets/database/database.ts';
import { readHistory } from './facets/history/history.ts';
import { readLinks } from './facets/link/link.ts';
import { readLog } from './facets/log/log.ts';
import { listStatuses, readServiceStatus } from './facets/status/status.ts';
import type { ServiceReference } from './lock.ts';
import { listOutdated, listServicesOfType } from './list.ts';
import * as service from './service.ts';

/** All operations on services by their type; those on the services of an environment are the deployment room's, variables their own. */
export function mountService(mounting: Mounting, deps: Deps): void {
  for (const kind of Object.values(kinds)) mountKind(mounting, deps, kind);
}

function mountKind(mounting: Mounting, deps: Deps, { type, noun }: (typeof kinds)[ServedType]): void {
  const handlers = sharedHandlers(deps);
  const reference = ({ params }: AnyCall): ServiceReference => ({ id: params[`${noun}Id`] ?? '', type });
  for (const [role, operation] of Object.entries(serviceOperations[type])) {
    const handler = handlers[role];
    if (handler === undefined) throw new Error(`nothing serves the role ${role} of ${operation.id}`);
    mounting.onAny(operation, (call) => handler(call, reference(call)));
  }
}

type SharedHandler = (call: AnyCall, reference: ServiceReference) => Promise<unknown>;

/** By role; see `shared-operations.ts` of the contract. In operations on an environment the reference has its type only. */
function sharedHandlers(deps: Deps): Readonly<Record<string, SharedHandler>> {
  const dryRun = ({ query }: AnyCall): boolean => query['dry_run'] === true;
  const place = ({ params }: AnyCall, type: string) => ({ environmentId: params['environmentId'] ?? '', type });
  return {
    list: (call, { type }) =>
      (call.query['toUpdate'] === true ? listOutdated : listServicesOfType)(deps, call.caller, place(call, type)),
    create: (call, { type }) => service.createService(deps, call.caller, place(call, type), named(call.body)),
    read: ({ caller }, reference) => service.readService(deps, caller, reference),
    edit: ({ caller, body }, reference) => service.editService(deps, caller, reference, named(body)),
    delete: ({ caller }, reference) => action.deleteService(deps, caller, reference),
    deploy: (call, reference) => action.deployService(deps, call.caller, reference, { body: call.body, dryRun: dryRun(call) }),
    redeploy: (call, reference) => action.redeployService(deps, call.caller, reference, dryRun(call)),
    restart: (call, reference) => action.restartService(deps, call.caller, reference, dryRun(call)),
    stop: (call, reference) => action.stopService(deps, call.caller, reference, dryRun(call)),
    uninstall: async ({ caller }, reference) => (await action.uninstallService(deps, caller, reference)) ?? new OtherStatus(204),
    status: ({ caller }, reference) => readServiceStatus(deps, caller, reference),
    statuses: (call, { type }) => listStatuses(deps, call.caller, place(call, type)),
    history: ({ caller, query }, reference) => readHistory(deps, caller, reference, query),
    links: ({ caller }, reference) => readLinks(deps, caller, reference),
    credentials: ({ caller }, reference) => database.readCredentials(deps, caller, reference),
    versions: ({ caller }, reference) => database.listVersions(deps, caller, reference),
    configuration: (call, { type }) => database.listConfiguration(deps, call.caller, place(call, type).environmentId),
    log: ({ caller, query }, reference) => readLog(deps, caller, reference, wholeNumber(query['tail'])),
  };
}

// Checked against the contract before it comes here.
function named(body: unknown): service.NewService {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return body as service.NewService;
}

function wholeNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
