import Type, { type TProperties, type TSchema } from 'typebox';
import { oldHistoryEntry, oldHistoryPage, oldHistoryQuery } from '../deployment/old-history.ts';
import { operation } from '../operation.ts';
import { List, Name, Paging, Uuid, Words, Named } from '../shape.ts';
import { DeploymentPlan, DryRun, ServiceHistory, ServiceStatus } from '../shared/deployment.ts';
import { serviceStates } from '../shared/words.ts';
import type { Kind } from './kinds.ts';
import { Link, Log } from './parts.ts';

/*
 * Operations that service types share. Each function returns the operations of one kind, keyed by their role.
 * `operations.ts` lists them by id, with all other operations. The callers of these functions decide which kind has
 * which operations.
 */

const target = 'service' as const;
const StatusOrPlan = Named(
  'ServiceStatusOrPlan',
  Type.Intersect([ServiceStatus, Type.Partial(Type.Object({ plan: DeploymentPlan }))]),
);

/** Returns the operations create, read, list, edit and delete. */
export function recordOperations<const K extends Kind, Shape extends TSchema, New extends TSchema, Edit extends TSchema>(
  kind: K,
  { record, create, edit }: { readonly record: Shape; readonly create: New; readonly edit: Edit },
) {
  const all = `/environment/{environmentId}/${kind.noun as K['noun']}` as const;
  const at = `/${kind.noun as K['noun']}/{${kind.noun as K['noun']}Id}` as const;
  const tag = kind.Noun;
  return {
    list: operation({
      id: `list${kind.Nouns as K['Nouns']}`,
      method: 'GET',
      path: all,
      tag,
      summary: `List the ${kind.many} of an environment; with \`toUpdate\` only those that a deployment would change`,
      scope: 'READ',
      target: 'environment',
      query: Type.Partial(Type.Object({ toUpdate: Type.Boolean({ default: false }) })),
      status: 200,
      response: List(record),
      errors: [400],
    }),
    create: operation({
      id: `create${kind.Noun as K['Noun']}`,
      method: 'POST',
      path: all,
      tag,
      summary: `Create ${kind.one}; nothing is deployed yet`,
      scope: 'WRITE',
      target: 'environment',
      body: create,
      status: 201,
      response: record,
      errors: [400, 409],
    }),
    read: operation({
      id: `get${kind.Noun as K['Noun']}`,
      method: 'GET',
      path: at,
      tag,
      summary: `Read ${kind.one}`,
      scope: 'READ',
      target,
      status: 200,
      response: record,
      errors: [],
    }),
    edit: operation({
      id: `edit${kind.Noun as K['Noun']}`,
      method: 'PUT',
      path: at,
      tag,
      summary: `Edit ${kind.one}; omitted fields stay as they are, and running instances do not change before a deployment`,
      scope: 'WRITE',
      target,
      body: edit,
      status: 200,
      response: record,
      errors: [400, 409],
    }),
    delete: operation({
      id: `delete${kind.Noun as K['Noun']}`,
      method: 'DELETE',
      path: at,
      tag,
      summary: `Delete ${kind.one} with all that it has on the cluster, data included; visible as DELETING until it is gone`,
      scope: 'WRITE',
      target,
      status: 204,
      response: null,
      errors: [409],
    }),
  };
}

interface DeployShapes<Query, Request, Answer> {
  /** `DryRun` and the kind's further query parameters. */
  readonly query: Query;
  readonly body: Request;
  readonly answer: Answer;
  readonly summary: string;
}

/**
 * Returns the operations deploy and redeploy, with the kind's request parameters and the response fields that the kind
 * adds to the status.
 */
export function deployOperations<const K extends Kind, Request extends TSchema, Answer extends TSchema, Query extends TSchema>(
  kind: K,
  { query, body, answer, summary }: DeployShapes<Query, Request, Answer>,
) {
  const at = `/${kind.noun as K['noun']}/{${kind.noun as K['noun']}Id}` as const;
  const tag = kind.Noun;
  return {
    deploy: operation({
      id: `deploy${kind.Noun as K['Noun']}`,
      method: 'POST',
      path: `${at}/deploy`,
      tag,
      summary: `${summary}; \`dry_run\` only returns the plan`,
      scope: 'DEPLOY',
      target,
      query,
      body,
      bodyRequired: false,
      status: 202,
      response: Named(`Deployed${kind.Noun}`, Type.Intersect([StatusOrPlan, answer])),
      errors: [400, 409],
    }),
    redeploy: operation({
      id: `redeploy${kind.Noun as K['Noun']}`,
      method: 'POST',
      path: `${at}/redeploy`,
      tag,
      summary: 'Deploy again what was deployed last, with the current configuration',
      event: 'TRIGGER_REDEPLOY',
      scope: 'DEPLOY',
      target,
      query,
      status: 202,
      response: StatusOrPlan,
      errors: [400, 409],
    }),
    uninstall: operation({
      id: `uninstall${kind.Noun as K['Noun']}`,
      method: 'POST',
      path: `${at}/uninstall`,
      tag,
      summary: `Uninstall ${kind.one} from the cluster, including its data; its configuration stays. 204: nothing was deployed`,
      scope: 'WRITE',
      target,
      status: 202,
      otherStatus: 204,
      response: StatusOrPlan,
      errors: [409],
    }),
  };
}

/** Returns the operation restart, for services that run permanently. */
export function restartOperations<const K extends Kind>(kind: K) {
  const at = `/${kind.noun as K['noun']}/{${kind.noun as K['noun']}Id}` as const;
  return {
    restart: operation({
      id: `reboot${kind.Noun as K['Noun']}`,
      method: 'POST',
      path: `${at}/restart-service`,
      tag: kind.Noun,
      summary: `Replace the instances of ${kind.one} by new ones of the same release`,
      scope: 'DEPLOY',
      target,
      query: DryRun,
      status: 202,
      response: StatusOrPlan,
      errors: [409],
    }),
  };
}

export function stopOperations<const K extends Kind>(kind: K) {
  const at = `/${kind.noun as K['noun']}/{${kind.noun as K['noun']}Id}` as const;
  return {
    stop: operation({
      id: `stop${kind.Noun as K['Noun']}`,
      method: 'POST',
      path: `${at}/stop`,
      tag: kind.Noun,
      summary: `Stop ${kind.one}; its data stays`,
      scope: 'DEPLOY',
      target,
      query: DryRun,
      status: 202,
      response: StatusOrPlan,
      errors: [409],
    }),
  };
}

/**
 * Returns the operations that read the status of one service, the status of all services of an environment, and the
 * deployments of one service.
 */
export function statusOperations<const K extends Kind>(kind: K) {
  const at = `/${kind.noun as K['noun']}/{${kind.noun as K['noun']}Id}` as const;
  const tag = kind.Noun;
  return {
    status: operation({
      id: `get${kind.Noun as K['Noun']}Status`,
      method: 'GET',
      path: `${at}/status`,
      tag,
      summary: `Read the status of ${kind.one}`,
      scope: 'READ',
      target,
      status: 200,
      response: ServiceStatus,
      errors: [],
    }),
    statuses: operation({
      id: `getEnvironment${kind.Noun as K['Noun']}Status`,
      method: 'GET',
      path: `/environment/{environmentId}/${kind.noun as K['noun']}/status`,
      tag,
      summary: `Read the status of all ${kind.many} of an environment`,
      scope: 'READ',
      target: 'environment',
      status: 200,
      response: List(ServiceStatus),
      errors: [],
    }),
  };
}

export function historyOperations<const K extends Kind>(kind: K) {
  const at = `/${kind.noun as K['noun']}/{${kind.noun as K['noun']}Id}` as const;
  return {
    history: operation({
      id: `list${kind.Noun as K['Noun']}DeploymentHistoryV2`,
      method: 'GET',
      path: `${at}/deploymentHistoryV2`,
      tag: kind.Noun,
      summary: `List the deployments of ${kind.one}, newest first; a rollback names a \`release_id\` of this list`,
      scope: 'READ',
      target,
      query: Paging,
      status: 200,
      response: ServiceHistory,
      errors: [400],
    }),
  };
}

/**
 * Returns the operation for the older version of the history. `fields`: additional fields of the kind. See
 * `deployment/history.ts`.
 */
export function oldHistoryOperations<const K extends Kind, const P extends TProperties>(kind: K, fields: P) {
  return {
    oldHistory: operation({
      id: `list${kind.Noun as K['Noun']}DeploymentHistory`,
      method: 'GET',
      path: `/${kind.noun as K['noun']}/{${kind.noun as K['noun']}Id}/deploymentHistory`,
      tag: kind.Noun,
      summary: `List the deployments of ${kind.one} in the older shape, newest first; \`startId\`: those before this one`,
      scope: 'READ',
      target,
      query: oldHistoryQuery,
      status: 200,
      response: Named(
        `${kind.Noun}DeploymentHistory`,
        Type.Object({
          ...oldHistoryPage,
          results: Type.Array(
            Named(
              `${kind.Noun}Deployment`,
              Type.Object({ ...oldHistoryEntry, status: Type.Optional(Words(serviceStates)), ...fields }),
            ),
          ),
        }),
      ),
      errors: [400],
    }),
  };
}

/** Returns the operation clone. `record`: the shape of the kind's records. */
export function cloneOperations<const K extends Kind, Shape extends TSchema>(kind: K, record: Shape) {
  return {
    clone: operation({
      id: `clone${kind.Noun as K['Noun']}`,
      event: 'CLONE',
      method: 'POST',
      path: `/${kind.noun as K['noun']}/{${kind.noun as K['noun']}Id}/clone`,
      tag: kind.Noun,
      summary: `Copy ${kind.one} with its variables, secrets, settings and restrictions into an environment of the organization; without data and custom domains, and nothing is deployed`,
      scope: 'WRITE',
      target,
      body: Named('ServiceCloneRequest', Type.Object({ name: Name, environment_id: Uuid })),
      status: 202,
      response: record,
      errors: [400, 409],
    }),
  };
}

export function linkOperations<const K extends Kind>(kind: K) {
  const at = `/${kind.noun as K['noun']}/{${kind.noun as K['noun']}Id}` as const;
  return {
    links: operation({
      id: `list${kind.Noun as K['Noun']}Links`,
      method: 'GET',
      path: `${at}/link`,
      tag: kind.Noun,
      summary: `List the addresses at which ${kind.one} answers`,
      scope: 'READ',
      target,
      status: 200,
      response: List(Link),
      errors: [],
    }),
  };
}

export function logOperations<const K extends Kind>(kind: K) {
  const at = `/${kind.noun as K['noun']}/{${kind.noun as K['noun']}Id}` as const;
  return {
    log: operation({
      id: `list${kind.Noun as K['Noun']}Log`,
      method: 'GET',
      path: `${at}/log`,
      tag: kind.Noun,
      summary: `Read the newest lines that ${kind.one} printed, oldest of them first; also of removed containers`,
      scope: 'READ',
      target,
      query: Type.Partial(Type.Object({ tail: Type.Integer({ minimum: 1, maximum: 1000, default: 1000 }) })),
      status: 200,
      response: List(Log),
      errors: [400],
    }),
  };
}
