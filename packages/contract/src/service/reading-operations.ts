import Type, { type TProperties } from 'typebox';
import { oldHistoryEntry, oldHistoryPage, oldHistoryQuery } from '../deployment/old-history.ts';
import { operation } from '../operation.ts';
import { about, List, Named, Paging, Words } from '../shape.ts';
import { ServiceHistory } from '../shared/deployment-history.ts';
import { serviceStates } from '../shared/deployment-words.ts';
import { ServiceStatus } from '../shared/status.ts';
import * as effects from './kind-words.ts';
import type { Kind } from './kinds.ts';
import { Link, Log } from './parts.ts';

/*
 * Operations that read how a service is doing, which kinds share: status, deployments, addresses, log.
 * Each function returns the operations of one kind of service, keyed by their role. `operations.ts` lists them by id,
 * with all other operations. The callers of these functions decide which kind has which operations.
 */

const target = 'service' as const;

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
