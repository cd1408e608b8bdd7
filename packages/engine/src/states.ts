import type { Action } from './model.ts';

/**
 * The phase of a service inside a deployment:
 *
 *   QUEUED ──> WAITING ──> BUILDING ──> WORKING ──> SUCCEEDED
 *     │           │            ├──> BUILD_FAILED    ├──> FAILED
 *     │           └────────────┴──> CANCELING <─────┘
 *     └──> (request withdrawn)          └──> CANCELED
 *
 * QUEUED: the request waits for its turn in the environment. WAITING: the deployment is running, but the stage of the
 * service has not begun. A service whose turn never comes because another one failed goes from WAITING to CANCELED.
 */
export const phases = [
  'QUEUED',
  'WAITING',
  'BUILDING',
  'WORKING',
  'CANCELING',
  'SUCCEEDED',
  'BUILD_FAILED',
  'FAILED',
  'CANCELED',
] as const;
export type Phase = (typeof phases)[number];

/** The only place that decides on a state word of the API. */
const stateWords = {
  DEPLOY: {
    QUEUED: 'DEPLOYMENT_QUEUED',
    WAITING: 'WAITING_RUNNING',
    BUILDING: 'BUILDING',
    WORKING: 'DEPLOYING',
    CANCELING: 'CANCELING',
    SUCCEEDED: 'DEPLOYED',
    BUILD_FAILED: 'BUILD_ERROR',
    FAILED: 'DEPLOYMENT_ERROR',
    CANCELED: 'CANCELED',
  },
  RESTART: {
    QUEUED: 'RESTART_QUEUED',
    WAITING: 'WAITING_RESTARTING',
    BUILDING: 'RESTARTING',
    WORKING: 'RESTARTING',
    CANCELING: 'CANCELING',
    SUCCEEDED: 'RESTARTED',
    BUILD_FAILED: 'RESTART_ERROR',
    FAILED: 'RESTART_ERROR',
    CANCELED: 'CANCELED',
  },
  STOP: {
    QUEUED: 'STOP_QUEUED',
    WAITING: 'WAITING_STOPPING',
    BUILDING: 'STOPPING',
    WORKING: 'STOPPING',
    CANCELING: 'CANCELING',
    SUCCEEDED: 'STOPPED',
    BUILD_FAILED: 'STOP_ERROR',
    FAILED: 'STOP_ERROR',
    CANCELED: 'CANCELED',
  },
  DELETE: {
    QUEUED: 'DELETE_QUEUED',
    WAITING: 'WAITING_DELETING',
    BUILDING: 'DELETING',
    WORKING: 'DELETING',
    CANCELING: 'CANCELING',
    SUCCEEDED: 'DELETED',
    BUILD_FAILED: 'DELETE_ERROR',
    FAILED: 'DELETE_ERROR',
    CANCELED: 'CANCELED',
  },
  // An uninstalled service is treated as never deployed: its record stays and can be deployed.
  UNINSTALL: {
    QUEUED: 'DELETE_QUEUED',
    WAITING: 'WAITING_DELETING',
    BUILDING: 'DELETING',
    WORKING: 'DELETING',
    CANCELING: 'CANCELING',
    SUCCEEDED: 'READY',
    BUILD_FAILED: 'DELETE_ERROR',
    FAILED: 'DELETE_ERROR',
    CANCELED: 'CANCELED',
  },
} as const satisfies Record<Action, Record<Phase, string>>;

export type StateWord = (typeof stateWords)[Action][Phase] | 'READY' | 'EXECUTING';
export type ActionStatusWord = 'QUEUED' | 'ONGOING' | 'EXECUTING' | 'SUCCESS' | 'ERROR' | 'CANCELED' | 'CANCELING' | 'NEVER';
export type ActionWord = 'DEPLOY' | 'DELETE' | 'RESTART' | 'STOP' | 'UNKNOWN';

/** Part of a kind: whether its deployments run a command of the user. */
interface ExecutedKind {
  readonly isExecuted: boolean;
}

/** Returns whether a command of the user is running, which has its own state words. */
function isExecuting(action: Action, phase: Phase, kind: ExecutedKind | null): boolean {
  return kind?.isExecuted === true && action === 'DEPLOY' && phase === 'WORKING';
}

export function stateOf(action: Action, phase: Phase, kind: ExecutedKind | null = null): StateWord {
  if (isExecuting(action, phase, kind)) return 'EXECUTING';
  return stateWords[action][phase];
}

const actionStatus: Readonly<Record<Phase, ActionStatusWord>> = {
  QUEUED: 'QUEUED',
  WAITING: 'QUEUED',
  BUILDING: 'ONGOING',
  WORKING: 'ONGOING',
  CANCELING: 'CANCELING',
  SUCCEEDED: 'SUCCESS',
  BUILD_FAILED: 'ERROR',
  FAILED: 'ERROR',
  CANCELED: 'CANCELED',
};

export function actionStatusOf(action: Action, phase: Phase, kind: ExecutedKind | null = null): ActionStatusWord {
  if (isExecuting(action, phase, kind)) return 'EXECUTING';
  return actionStatus[phase];
}

/** Returns the word for `status_details.action`: an uninstall deletes what is on the cluster. */
export function actionWord(action: Action): ActionWord {
  return action === 'UNINSTALL' ? 'DELETE' : action;
}

export function isFinished(phase: Phase): boolean {
  return phase === 'SUCCEEDED' || phase === 'BUILD_FAILED' || phase === 'FAILED' || phase === 'CANCELED';
}

/**
 * Precedence of states: the first word in this list that any service of an environment has stands for all its services.
 */
const precedence: readonly StateWord[] = [
  'CANCELING',
  'BUILDING',
  'DEPLOYING',
  'EXECUTING',
  'RESTARTING',
  'STOPPING',
  'DELETING',
  'WAITING_RUNNING',
  'WAITING_RESTARTING',
  'WAITING_STOPPING',
  'WAITING_DELETING',
  'DEPLOYMENT_QUEUED',
  'RESTART_QUEUED',
  'STOP_QUEUED',
  'DELETE_QUEUED',
  'BUILD_ERROR',
  'DEPLOYMENT_ERROR',
  'RESTART_ERROR',
  'STOP_ERROR',
  'DELETE_ERROR',
  'CANCELED',
  'DEPLOYED',
  'RESTARTED',
  'STOPPED',
  'DELETED',
  'READY',
];

/** Returns the state of an environment, derived from the states of its services; null without services. */
export function environmentState(states: readonly StateWord[]): StateWord | null {
  return precedence.find((word) => states.includes(word)) ?? null;
}

/** Returns the result of a whole deployment in a word, as the environment's last deployment state. */
export function deploymentState(
  action: Action,
  status: 'QUEUED' | 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'CANCELED' | 'WITHDRAWN',
  buildFailed: boolean,
): StateWord {
  if (status === 'QUEUED') return stateOf(action, 'QUEUED');
  if (status === 'RUNNING') return stateOf(action, 'WORKING');
  if (status === 'SUCCEEDED') return stateOf(action, 'SUCCEEDED');
  if (status === 'FAILED') return stateOf(action, buildFailed ? 'BUILD_FAILED' : 'FAILED');
  return 'CANCELED';
}

/**
 * Returns the state word in the event of a deployment that started or ended. An uninstall reports DELETED, as a
 * deletion does, although the record of the service stays.
 */
export function eventState(action: Action, status: 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'CANCELED'): StateWord {
  return deploymentState(action === 'UNINSTALL' ? 'DELETE' : action, status, false);
}
