import Type, { type TSchema } from 'typebox';
import { operation } from '../operation.ts';
import { Named } from '../shape.ts';
import { DeploymentPlan, DryRun } from '../shared/deployment-plan.ts';
import { ServiceStatus } from '../shared/status.ts';
import * as effects from './kind-words.ts';
import type { Kind } from './kinds.ts';

/*
 * Operations that deploy, restart and stop services, which kinds share.
 * Each function returns the operations of one kind of service, keyed by their role. `operations.ts` lists them by id,
 * with all other operations. The callers of these functions decide which kind has which operations.
 */

const target = 'service' as const;
const StatusOrPlan = Named(
  'ServiceStatusOrPlan',
  Type.Intersect([ServiceStatus, Type.Partial(Type.Object({ plan: DeploymentPlan }))]),
  'The status of the service; for a dry run the present one, and the plan.',
);

const releaseRow =
  '\n| `RELEASE_NOT_USABLE` (409) | The release has no image any more, or a domain of it belongs to another service. | Choose another release. |';

const queued = `
  The request waits for its turn in the queue of the environment. \`dry_run\` only returns the plan.
`;

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
        merged with it. Wait for the end by the status or the stream; \`getDeploymentStatusByDeploymentRequestId\` has its
        \`execution_id\`. \`dry_run\` only returns the plan.

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
        'The status after the request; for a dry run the present one, and the plan.',
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
