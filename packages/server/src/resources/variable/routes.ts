import {
  operations,
  variableScopesOfPaths as scopes,
  type ScopedVariableOperations,
  type ServiceScope,
  type ServiceVariableOperations,
} from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import { importVariables } from './import.ts';
import type { OwnerReference, ServiceOwners, VariableContext } from './owner.ts';
import { createAlias, createOverride } from './relation.ts';
import * as requests from './requests.ts';
import { createVariable, editVariable } from './variable.ts';

/** Mounts variables and secrets at all scopes. A new type of service takes one more line here. */
export function mountVariable(
  mounting: Mounting,
  deps: Needs<'database' | 'engine' | 'vault', 'clusterSettings' | 'gatewayDomain' | 'variablePrefix'>,
  services: ServiceOwners,
): void {
  const context = { deps, services };
  mountScope(mounting, context, scopes.PROJECT, 'PROJECT');
  mountScope(mounting, context, scopes.ENVIRONMENT, 'ENVIRONMENT');
  mountService(mounting, context, scopes.APPLICATION, 'APPLICATION');
  mountService(mounting, context, scopes.CONTAINER, 'CONTAINER');
  mountService(mounting, context, scopes.JOB, 'JOB');
  mountAny(mounting, context);
}

type Scope = OwnerReference['scope'];
type Params = Readonly<Record<string, string>>;
interface One {
  readonly id: string;
  readonly isSecret: boolean;
}
type At = (params: Params) => OwnerReference;

function mountScope(mounting: Mounting, context: VariableContext, scoped: ScopedVariableOperations, scope: Scope): void {
  const at: At = (params) => ({ scope, id: params[scoped.parameter] ?? '' });
  mountVariables(mounting, context, scoped.variables, at);
  mountSecrets(mounting, context, scoped.secrets, at);
}

function mountService(
  mounting: Mounting,
  context: VariableContext,
  scoped: ServiceVariableOperations,
  scope: ServiceScope,
): void {
  mountScope(mounting, context, scoped, scope);
  mounting.on(scoped.import, ({ caller, params, body }) =>
    importVariables(context, caller, { scope, id: params[scoped.parameter] ?? '' }, body),
  );
}

function mountVariables(mounting: Mounting, context: VariableContext, set: ScopedVariableOperations['variables'], at: At): void {
  const { variables: sort } = requests;
  const { isSecret } = sort;
  const one = (params: Params): One => ({ id: params['environmentVariableId'] ?? '', isSecret });
  mounting
    .on(set.list, ({ caller, params }) => requests.listVariables(context, caller, at(params)))
    .on(set.create, ({ caller, params, body }) =>
      requests.change(context, caller, { reference: at(params), sort }, (change) => createVariable(change, isSecret, body)),
    )
    .on(set.edit, ({ caller, params, body }) =>
      requests.change(context, caller, { reference: at(params), sort }, (change) => editVariable(change, one(params), body)),
    )
    .on(set.remove, ({ caller, params }) => requests.remove(context, caller, at(params), one(params)))
    .on(set.alias, ({ caller, params, body }) =>
      requests.change(context, caller, { reference: at(params), sort }, (change) => createAlias(change, one(params), body)),
    )
    .on(set.override, ({ caller, params, body }) =>
      requests.change(context, caller, { reference: at(params), sort }, (change) => createOverride(change, one(params), body)),
    );
}

function mountSecrets(mounting: Mounting, context: VariableContext, set: ScopedVariableOperations['secrets'], at: At): void {
  const { secrets: sort } = requests;
  const { isSecret } = sort;
  const one = (params: Params): One => ({ id: params['secretId'] ?? '', isSecret });
  mounting
    .on(set.list, ({ caller, params }) => requests.listSecrets(context, caller, at(params)))
    .on(set.create, ({ caller, params, body }) =>
      requests.change(context, caller, { reference: at(params), sort }, (change) => createVariable(change, isSecret, body)),
    )
    .on(set.edit, ({ caller, params, body }) => {
      const secret = one(params);
      // This operation does not change a secret's path.
      const { key, value, description, enable_interpolation_in_file } = body;
      const request = { key, value, description, enable_interpolation_in_file };
      return requests.change(context, caller, { reference: at(params), sort }, (change) => editVariable(change, secret, request));
    })
    .on(set.remove, ({ caller, params }) => requests.remove(context, caller, at(params), one(params)))
    .on(set.alias, ({ caller, params, body }) =>
      requests.change(context, caller, { reference: at(params), sort }, (change) => createAlias(change, one(params), body)),
    )
    .on(set.override, ({ caller, params, body }) =>
      requests.change(context, caller, { reference: at(params), sort }, (change) => createOverride(change, one(params), body)),
    );
}

/** Mounts the operations whose query or body names the owner. */
function mountAny(mounting: Mounting, context: VariableContext): void {
  mounting
    .on(operations.listVariables, ({ caller, query }) => requests.listAny(context, caller, query))
    .on(operations.createVariable, ({ caller, body }) => requests.createAny(context, caller, body))
    .on(operations.importEnvironmentVariables, ({ caller, query, body }) => requests.importAny(context, caller, query, body))
    .on(operations.editVariable, ({ caller, params, body }) => requests.editAny(context, caller, params.variableId, body))
    .on(operations.deleteVariable, ({ caller, params }) => requests.removeAny(context, caller, params.variableId))
    .on(operations.createVariableAlias, ({ caller, params, body }) => requests.aliasAny(context, caller, params.variableId, body))
    .on(operations.createVariableOverride, ({ caller, params, body }) =>
      requests.overrideAny(context, caller, params.variableId, body),
    );
}
