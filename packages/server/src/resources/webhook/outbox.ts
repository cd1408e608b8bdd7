import type { WebhookEvent } from '@davit/contract';
import type { Queryable } from '@davit/db';
import { eventState, type Action } from '@davit/engine/port';
import { deliveriesAdd } from './store.ts';

/** A change of a deployment's state; see the contract's section on events. */
export type Turn = 'STARTED' | 'SUCCEEDED' | 'FAILED' | 'CANCELED';

/**
 * Adds a deployment's event to the outbox. Each deployment, whatever its action, has STARTED and then exactly one of
 * the others.
 */
export async function tellDeployment(tx: Queryable, deploymentId: string, action: Action, turn: Turn): Promise<void> {
  const done = eventState(action, 'SUCCEEDED');
  const told: Readonly<Record<Turn, readonly [WebhookEvent, string]>> = {
    STARTED: ['DEPLOYMENT_STARTED', eventState(action, 'RUNNING')],
    SUCCEEDED: ['DEPLOYMENT_SUCCESSFUL', done],
    FAILED: ['DEPLOYMENT_FAILURE', eventState(action, 'FAILED')],
    CANCELED: ['DEPLOYMENT_CANCELLED', eventState(action, 'CANCELED')],
  };
  await tx.run(deliveriesAdd, [deploymentId, ...told[turn], done]);
}
