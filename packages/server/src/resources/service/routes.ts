import { kinds, operations } from '@davit/contract';
import type { Deps } from '../../deps.ts';
import { OtherStatus, type Mounting } from '../../http/mount.ts';
import * as action from './facets/action/action.ts';
import { readHistory } from './facets/history/history.ts';
import { readLinks } from './facets/link/link.ts';
import { readLog } from './facets/log/log.ts';
import { listStatuses, readServiceStatus } from './facets/status/status.ts';
import * as variable from './facets/variable/variable.ts';
import type { ServiceReference } from './lock.ts';
import { listOutdated, listServicesOfType } from './list.ts';
import * as service from './service.ts';

const { type } = kinds.APPLICATION;

function application(params: { readonly applicationId: string }): ServiceReference {
  return { id: params.applicationId, type };
}

/** All operations on services by their type; those on the services of an environment are the deployment room's. */
export function mountService(mounting: Mounting, deps: Deps): void {
  mountRecords(mounting, deps);
  mountActions(mounting, deps);
  mountReads(mounting, deps);
  mountVariables(mounting, deps);
  mountSecrets(mounting, deps);
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

function mountVariables(mounting: Mounting, deps: Deps): void {
  const { variables: sort } = variable;
  mounting
    .on(operations.listApplicationEnvironmentVariable, ({ caller, params }) =>
      variable.listServiceVariables(deps, caller, application(params)),
    )
    .on(operations.createApplicationEnvironmentVariable, ({ caller, params, body }) =>
      variable.createServiceVariable(deps, caller, { reference: application(params), sort }, body),
    )
    .on(operations.editApplicationEnvironmentVariable, ({ caller, params, body }) => {
      const variableId = params.environmentVariableId;
      return variable.editServiceVariable(deps, caller, { reference: application(params), sort, variableId }, body);
    })
    .on(operations.deleteApplicationEnvironmentVariable, ({ caller, params }) => {
      const variableId = params.environmentVariableId;
      return variable.deleteServiceVariable(deps, caller, { reference: application(params), sort, variableId });
    })
    .on(operations.createApplicationEnvironmentVariableAlias, ({ caller, params, body }) => {
      const variableId = params.environmentVariableId;
      return variable.createServiceAlias(deps, caller, { reference: application(params), sort, variableId }, body);
    });
}

function mountSecrets(mounting: Mounting, deps: Deps): void {
  const { secrets: sort } = variable;
  mounting
    .on(operations.listApplicationSecrets, ({ caller, params }) => variable.listServiceSecrets(deps, caller, application(params)))
    .on(operations.createApplicationSecret, ({ caller, params, body }) =>
      variable.createServiceVariable(deps, caller, { reference: application(params), sort }, body),
    )
    .on(operations.editApplicationSecret, ({ caller, params, body }) => {
      const variableId = params.secretId;
      return variable.editServiceVariable(deps, caller, { reference: application(params), sort, variableId }, body);
    })
    .on(operations.deleteApplicationSecret, ({ caller, params }) => {
      const variableId = params.secretId;
      return variable.deleteServiceVariable(deps, caller, { reference: application(params), sort, variableId });
    })
    .on(operations.createApplicationSecretAlias, ({ caller, params, body }) => {
      const variableId = params.secretId;
      return variable.createServiceAlias(deps, caller, { reference: application(params), sort, variableId }, body);
    });
}
