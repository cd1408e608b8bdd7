import * as cluster from './cluster/cluster.ts';
import * as queue from './deployment/queue.ts';
import * as stage from './deployment/stage.ts';
import * as environment from './environment/environment.ts';
import type { Operation } from './operation.ts';
import * as event from './organization/event.ts';
import * as organization from './organization/organization.ts';
import * as project from './project/project.ts';
import * as webhook from './webhook/webhook.ts';
import * as service from './service/operations.ts';

const modules = { ...organization, ...event, ...project, ...cluster, ...environment, ...stage, ...queue, ...service, ...webhook };

type Declared = {
  [Name in keyof typeof modules as (typeof modules)[Name] extends Operation ? Name : never]: (typeof modules)[Name];
};

function isOperation(value: unknown): value is Operation {
  return typeof value === 'object' && value !== null && 'id' in value && 'method' in value && 'path' in value;
}

/** Every operation of the API by its id. What is not in here is not served. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- TypeScript does not know the keys that a filter leaves; `Declared` filters the same way
export const operations = Object.fromEntries(
  Object.entries(modules).filter(([name, value]) => isOperation(value) && value.id === name),
) as unknown as Declared;

export type OperationId = keyof Declared;
export const operationList: readonly Operation[] = Object.values(operations);
