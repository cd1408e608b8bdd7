import Type, { type TProperties, type TSchema } from 'typebox';
import { oldHistoryEntry, oldHistoryPage, oldHistoryQuery } from '../deployment/old-history.ts';
import { operation } from '../operation.ts';
import { about, List, Name, Named, Paging, Uuid, Words } from '../shape.ts';
import { DeploymentPlan, DryRun, ServiceHistory, ServiceStatus } from '../shared/deployment.ts';
import { serviceStates } from '../shared/words.ts';
import * as effects from './kind-words.ts';
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
  'The status of the service; for a dry run also the plan.',
);

const releaseRow =
  '\n| `RELEASE_NOT_USABLE` (409) | The release has no image any more, or a domain of it belongs to another service. | Choose another release. |';

const queued = `
  The request waits for its turn in the queue of the environment. \`dry_run\` only returns the plan.
`;

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
      summary: `List the ${kind.many} of an environment`,
      description: `
        Returns the ${kind.many} of the environment with their configuration, oldest first. Their statuses are read
        separately, for all of them at once.
      `,
      scope: 'READ',
      target: 'environment',
      query: Type.Partial(
        Type.Object({
          toUpdate: about(
            'Only those that are OUT_OF_DATE; those that were never deployed are left out.',
            Type.Boolean({ default: false }),
          ),
        }),
      ),
      status: 200,
      response: List(record),
      errors: [400],
    }),
    create: operation({
      id: `create${kind.Noun as K['Noun']}`,
      method: 'POST',
      path: all,
      tag,
      summary: `Create ${kind.one}`,
      description: `
        Creates ${kind.one} in the environment. Nothing runs yet: add variables, then deploy. The service joins the
        default deployment stage of its type. Fields that you leave out get their defaults.

        | Code | Cause | Remedy |
        |---|---|---|
        | \`NAME_TAKEN\` (409) | A service of the environment has this name; case does not matter. | Choose another name. |
        | \`INVALID_REFERENCE\` (400) | An id in the body names nothing of this organization. | Correct the id. |${effects.portRow(kind)}
      `,
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
      description: `
        Returns the configuration as it was last edited, deployed or not. Send the header \`ETag\` as \`If-Match\` with
        an edit to detect a change in between.
      `,
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
      summary: `Edit ${kind.one}`,
      description: `
        Changes the fields that the request has; the others stay, and lists are replaced as a whole. Running
        instances do not change: the service is OUT_OF_DATE until you deploy it.

        | Code | Cause | Remedy |
        |---|---|---|
        | \`NAME_TAKEN\` (409) | A service of the environment has this name; case does not matter. | Choose another name. |
        | \`BEING_DELETED\` (409) | The service is being deleted. | Wait until it is gone. |${effects.portRow(kind)}
      `,
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
      summary: `Delete ${kind.one}`,
      description: `
        ${effects.deletion[kind.type]} This cannot be undone. What was deployed
        is removed by a deployment: the service is DELETING until then, and the record is gone afterwards. A repetition
        changes nothing.
      `,
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
  /** The first paragraph of the description of deploy. */
  readonly description: string;
}

/**
 * Returns the operations deploy and redeploy, with the kind's request parameters and the response fields that the kind
 * adds to the status.
 */
export function deployOperations<const K extends Kind, Request extends TSchema, Answer extends TSchema, Query extends TSchema>(
  kind: K,
  { query, body, answer, description }: DeployShapes<Query, Request, Answer>,
) {
  const at = `/${kind.noun as K['noun']}/{${kind.noun as K['noun']}Id}` as const;
  const tag = kind.Noun;
  return {
    deploy: operation({
      id: `deploy${kind.Noun as K['Noun']}`,
      method: 'POST',
      path: `${at}/deploy`,
      tag,
      summary: `Deploy ${kind.one}`,
      description: `
        ${description}

        The request waits for its turn in the queue of the environment; a waiting one of the same caller and action is
        merged with it. Wait for the end by the status or the stream. \`dry_run\` only returns the plan.

        | Code | Cause | Remedy |
        |---|---|---|
        | \`BEING_DELETED\` (409) | The service or its environment is being deleted. | Wait until it is gone. |
        | \`BILLING_RESTRICTION\` (403) | The organization may not deploy on this cluster. | Settle its billing. |${effects.hasRollback(kind) ? releaseRow : ''}
      `,
      scope: 'DEPLOY',
      target,
      query,
      body,
      bodyRequired: false,
      status: 202,
      response: Named(
        `Deployed${kind.Noun}`,
        Type.Intersect([StatusOrPlan, answer]),
        'The status after the request; for a dry run also the plan.',
      ),
      errors: [400, 409],
    }),
    redeploy: operation({
      id: `redeploy${kind.Noun as K['Noun']}`,
      method: 'POST',
      path: `${at}/redeploy`,
      tag,
      summary: `Redeploy ${kind.one}`,
      description: `
        ${effects.redeployment[kind.type]}
        ${queued}
      `,
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
      summary: `Uninstall ${kind.one}`,
      description: `
        ${effects.uninstallation(kind)} Its configuration stays and can be deployed again. The request waits for its turn
        in the queue of the environment. 204: nothing was deployed.
      `,
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
      summary: `Restart ${kind.one}`,
      description: `
        ${effects.restart(kind)} Configuration changes are not applied. ${queued}

        | Code | Cause | Remedy |
        |---|---|---|
        | \`NEVER_DEPLOYED\` (409) | Nothing is deployed. | Deploy it. |
      `,
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
      summary: `Stop ${kind.one}`,
      description: `
        ${effects.stop(kind)} Deploy to start again. ${queued}

        | Code | Cause | Remedy |
        |---|---|---|
        | \`NEVER_DEPLOYED\` (409) | Nothing is deployed. | Deploy it. |
      `,
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
      description: `
        Returns the state by the latest action, how the instances are now, open problems, and why the latest action
        failed. To wait for an action, read until \`state\` is an end: DEPLOYED, STOPPED, RESTARTED, DELETED, CANCELED, or one with
        ERROR.
      `,
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
      summary: `Read the statuses of all ${kind.many} of an environment`,
      description: `
        Returns the status of each of the ${kind.many}, oldest first. One request for all of them is cheaper than
        one for each of the services.
      `,
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
      summary: `List the deployments of ${kind.one}`,
      description: `
        Returns the deployments of the service, newest first, by default twenty a page: who requested each, what it
        deployed, and why it failed.${effects.hasRollback(kind) ? ' To roll back, deploy with a `release_id` of this list.' : ''}
      `,
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
      summary: `List the deployments of ${kind.one}, older form`,
      description: `
        Returns up to twenty deployments, newest first, with fewer fields than the path with \`V2\`, which you should
        prefer. \`startId\` continues after the last one read.
      `,
      scope: 'READ',
      target,
      query: oldHistoryQuery,
      status: 200,
      response: Named(
        `${kind.Noun}DeploymentHistory`,
        Type.Object({
          ...oldHistoryPage,
          results: about(
            'The deployments, newest first.',
            Type.Array(
              Named(
                `${kind.Noun}Deployment`,
                Type.Object({
                  ...oldHistoryEntry,
                  status: Type.Optional(about('The state that the deployment led to.', Words(serviceStates))),
                  ...fields,
                }),
                'A deployment in the older form.',
              ),
            ),
          ),
        }),
        'A page of deployments in the older form.',
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
      summary: `Clone ${kind.one}`,
      description: `
        Copies the service with its variables, secrets, settings and restrictions into an environment of the
        organization. Data and custom domains are not copied, taken public ports become the next free ones, and nothing
        is deployed.

        | Code | Cause | Remedy |
        |---|---|---|
        | \`NAME_TAKEN\` (409) | A service of that environment has this name; case does not matter. | Choose another name. |
      `,
      scope: 'WRITE',
      target,
      body: Named(
        'ServiceCloneRequest',
        Type.Object({
          name: about('The name of the copy, free in its environment.', Name),
          environment_id: about('The environment of the copy; it may be the same one.', Uuid),
        }),
        'Where to put the copy.',
      ),
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
      summary: `List the addresses of ${kind.one}`,
      description: `
        Returns the addresses of the public ports of the deployed release, custom domains included; before the first
        deployment, those of the configuration, where nothing answers yet.
      `,
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
      summary: `Read the newest log lines of ${kind.one}`,
      description: `
        Returns up to 1,000 of the newest lines that its instances printed, removed instances included, oldest
        first, without secrets. To search in older lines, use \`/service/{serviceId}/log\`.
      `,
      scope: 'READ',
      target,
      query: Type.Partial(
        Type.Object({
          tail: about('How many lines, from the newest.', Type.Integer({ minimum: 1, maximum: 1000, default: 1000 })),
        }),
      ),
      status: 200,
      response: List(Log),
      errors: [400],
    }),
  };
}
