import { createHash, randomBytes } from 'node:crypto';
import { isUuid } from '@davit/base';
import type { Database } from '@davit/db';
import {
  answerState,
  statePath,
  type LeftState,
  type StateAccess,
  type StateAnswer,
  type StateLock,
  type StateStore,
} from '@davit/drivers';
import type { EngineHooks } from '../../port.ts';
import type { StepContext } from '../../steps/step.ts';
import { readState } from '../../store/terraform.ts';
import * as store from '../../store/terraform-runs.ts';

/** The credentials with which a run on a cluster identifies itself to the API. */
export interface RunCredentials {
  readonly runId: string;
  readonly token: string;
}

/**
 * Returns the id of a deployment's run, which stays the same after a crash. A deployment that moves the state has two
 * runs.
 */
export function runIdOf(deploymentId: string, serviceId: string, which: 'NOW' | 'FORMER'): string {
  const hex = createHash('sha256').update(`${deploymentId}/${serviceId}/${which}`).digest('hex');
  // The id has the form of a UUID of version 8, which is reserved for custom formats.
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Gives a run access to its state: creates a token, and invalidates the previous one. */
export async function admitRun({ deployment, task, journal }: StepContext, runId: string): Promise<StateAccess> {
  const token = randomBytes(32).toString('base64url');
  const location = [task.serviceId, deployment.organization_id, deployment.environment_id];
  await journal.write(store.admitRun, [...location, runId, hashOf(token)]);
  return { path: statePath(runId), password: token };
}

/** Returns whether the run is under way and the token belongs to it. */
export async function isOpenRun(database: Database, { runId, token }: RunCredentials): Promise<boolean> {
  return isUuid(runId) && (await database.maybe(store.openRun, [runId, hashOf(token)])) !== undefined;
}

/** Handles a request of Terraform's backend `http` for the state of a run. Returns 401 if the run is not open. */
export async function answerRun(
  { database, hooks }: { readonly database: Database; readonly hooks: EngineHooks },
  credentials: RunCredentials,
  request: { readonly method: string; readonly body: string | null },
): Promise<StateAnswer> {
  const run: [string, Buffer] = [credentials.runId, hashOf(credentials.token)];
  const found = isUuid(credentials.runId) ? await database.maybe(store.openRun, run) : undefined;
  if (found === undefined) return refused;
  const { service_id: serviceId } = found;
  try {
    return await answerState(storeOf({ database, hooks }, serviceId, run), request);
  } catch (error) {
    if (error instanceof RunEnded) return refused;
    throw error;
  }
}

/** Stores a state that a run could not store itself. Returns false if another run owns the state by now. */
export async function storeLeft(
  { database, hooks }: { readonly database: Database; readonly hooks: EngineHooks },
  serviceId: string,
  { runId, state }: LeftState,
): Promise<boolean> {
  return (await database.maybe(store.writeLeftState, [runId, hooks.seal(serviceId, state)])) !== undefined;
}

const refused: StateAnswer = { status: 401, body: null };

/** The run ended while its request was handled. */
class RunEnded extends Error {}

function storeOf(
  { database, hooks }: { readonly database: Database; readonly hooks: EngineHooks },
  serviceId: string,
  run: [string, Buffer],
): StateStore {
  return {
    read: async () => {
      const sealed = (await database.maybe(readState, [serviceId]))?.sealed ?? null;
      return sealed === null ? null : hooks.open(serviceId, sealed);
    },
    write: async (state) => {
      const written = await database.maybe(store.writeRunState, [...run, hooks.seal(serviceId, state)]);
      if (written === undefined) throw new RunEnded();
    },
    lock: async (info) => {
      if ((await database.maybe(store.lockRunState, [...run, JSON.stringify(info)])) !== undefined) return null;
      if ((await database.maybe(store.openRun, run)) === undefined) throw new RunEnded();
      const held: StateLock | null = (await database.maybe(readState, [serviceId]))?.lock ?? null;
      return held ?? { ID: 'unknown' };
    },
    isLocked: async () => ((await database.maybe(readState, [serviceId]))?.lock ?? null) !== null,
    unlock: async (id) => (await database.maybe(store.unlockRunState, [...run, id])) !== undefined,
  };
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
