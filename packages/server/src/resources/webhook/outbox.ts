import type { WebhookEvent } from '@davit/contract';
import type { Queryable } from '@davit/db';
import { eventState, type Action } from '@davit/engine/port';
import { deliveriesAdd } from './store.ts';

/** A change of a deployment's state; see the contract's section on events. */
export type DeploymentEvent = 'STARTED' | 'SUCCEEDED' | 'FAILED' | 'CANCELED';

/**
 * Adds a deployment's event to the outbox. Each deployment, whatever its action, has STARTED and then exactly one of
 * the others.
 */
export async function addDeploymentEvent(
  tx: Queryable,
  deploymentId: string,
  action: Action,
  turn: DeploymentEvent,
): Promise<void> {
  const done = eventState(action, 'SUCCEEDED');
  const reported: Readonly<Record<DeploymentEvent, readonly [WebhookEvent, string]>> = {
    STARTED: ['DEPLOYMENT_STARTED', eventState(action, 'RUNNING')],
    SUCCEEDED: ['DEPLOYMENT_SUCCESSFUL', done],
    FAILED: ['DEPLOYMENT_FAILURE', eventState(action, 'FAILED')],
    CANCELED: ['DEPLOYMENT_CANCELLED', eventState(action, 'CANCELED')],
  };
  await tx.run(deliveriesAdd, [deploymentId, ...reported[turn], done]);
}
