import { kinds, operations } from '@davit/contract';
import type { Deps } from '../../deps.ts';
import { OtherStatus, type Mounting } from '../../http/mount.ts';
import * as action from './facets/action/action.ts';
import { readHistory } from './facets/history/history.ts';
import { readLinks } from './facets/link/link.ts';
import { readLog } from './facets/log/log.ts';
import { listStatuses, readServiceStatus } from './facets/status/status.ts';
import type { ServiceReference } from './lock.ts';
import { listOutdated, listServicesOfType } from './list.ts';
import * as service from './service.ts';

const { type } = kinds.APPLICATION;

function application(params: { readonly applicationId: string }): ServiceReference {
  return { id: params.applicationId, type };
}

/** All operations on services by their type; those on the services of an environment are the deployment room's. Variables are mounted by their own. */
export function mountService(mounting: Mounting, deps: Deps): void {
  mountRecords(mounting, deps);
  mountActions(mounting, deps);
  mountReads(mounting, deps);
}

function mountRecords(mounting: Mounting, deps: Deps): void {
  mounting
    .on(operations.listApplication, ({ caller, params, query }) =>
      (query.toUpdate === true ? listOutdated : listServicesOfType)(deps, caller, { environmentId: params.environmentId, type }),
    )
    .on(operations.createApplication, ({ caller, params, body }) =>
      service.createService(deps, caller, { environmentId: params.environmentId, type }, body),
    )
    .on(operations.getApplication, ({ caller, params }) => service.readService(deps, caller, application(params)))
    .on(operations.editApplication, ({ caller, params, body }) => service.editService(deps, caller, application(params), body))
    .on(operations.deleteApplication, ({ caller, params }) => action.deleteService(deps, caller, application(params)));
}

function mountActions(mounting: Mounting, deps: Deps): void {
  mounting
    .on(operations.deployApplication, ({ caller, params, query, body }) =>
      action.deployService(deps, caller, application(params), { body, dryRun: query.dry_run ?? false }),
    )
    .on(operations.redeployApplication, ({ caller, params, query }) =>
      action.redeployService(deps, caller, application(params), query.dry_run ?? false),
    )
    .on(operations.rebootApplication, ({ caller, params, query }) =>
      action.restartService(deps, caller, application(params), query.dry_run ?? false),
    )
    .on(operations.stopApplication, ({ caller, params, query }) =>
      action.stopService(deps, caller, application(params), query.dry_run ?? false),
    )
    .on(
      operations.uninstallApplication,
      async ({ caller, params }) => (await action.uninstallService(deps, caller, application(params))) ?? new OtherStatus(204),
    );
}

function mountReads(mounting: Mounting, deps: Deps): void {
  mounting
    .on(operations.getApplicationStatus, ({ caller, params }) => readServiceStatus(deps, caller, application(params)))
    .on(operations.getEnvironmentApplicationStatus, ({ caller, params }) =>
      listStatuses(deps, caller, { environmentId: params.environmentId, type }),
    )
    .on(operations.listApplicationLinks, ({ caller, params }) => readLinks(deps, caller, application(params)))
    .on(operations.listApplicationLog, ({ caller, params, query }) => readLog(deps, caller, application(params), query.tail))
    .on(operations.listApplicationDeploymentHistoryV2, ({ caller, params, query }) =>
      readHistory(deps, caller, application(params), query),
    );
}
