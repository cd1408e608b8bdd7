import type { WebhookEvent } from '@davit/contract';
import type { Queryable } from '@davit/db';
import type { Action } from '@davit/engine/port';
import { deliveriesAdd } from './store.ts';

/** Words for the states of a deployment in status records: running, succeeded, failed. */
const states: Readonly<Record<Action, readonly [running: string, done: string, failed: string]>> = {
  DEPLOY: ['DEPLOYING', 'DEPLOYED', 'DEPLOYMENT_ERROR'],
  RESTART: ['RESTARTING', 'RESTARTED', 'RESTART_ERROR'],
  STOP: ['STOPPING', 'STOPPED', 'STOP_ERROR'],
  DELETE: ['DELETING', 'DELETED', 'DELETE_ERROR'],
  UNINSTALL: ['DELETING', 'DELETED', 'DELETE_ERROR'],
};

/** A change of a deployment's state; see the contract's section on events. */
export type Turn = 'STARTED' | 'SUCCEEDED' | 'FAILED' | 'CANCELED';

/**
 * Adds a deployment's event to the outbox. Each deployment, whatever its action, has STARTED and then exactly one of
 * the others.
 */
export async function tellDeployment(tx: Queryable, deploymentId: string, action: Action, turn: Turn): Promise<void> {
  const [running, done, failed] = states[action];
  const told: Readonly<Record<Turn, readonly [WebhookEvent, string]>> = {
    STARTED: ['DEPLOYMENT_STARTED', running],
    SUCCEEDED: ['DEPLOYMENT_SUCCESSFUL', done],
    FAILED: ['DEPLOYMENT_FAILURE', failed],
    CANCELED: ['DEPLOYMENT_CANCELLED', 'CANCELED'],
  };
  await tx.run(deliveriesAdd, [deploymentId, ...told[turn], done]);
}
