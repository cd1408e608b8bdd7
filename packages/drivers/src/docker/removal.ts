import { abortablePause, inParallel } from '@davit/base';
import type { CallContext } from '../driver.ts';
import { DriverError } from '../errors.ts';
import type { Selector } from '../workload.ts';
import { call, EngineRefusal } from './engine-api.ts';
import { inspect, listContainers, listLabelled, listSummaries, type Scope } from './instances.ts';
import { translated } from './refusals.ts';

const atOnce = 8;
/** Milliseconds that the engine may take beyond the grace period: it waits for the kill, then unmounts. */
const beyondGraceMilliseconds = 120_000;

/** See `ClusterDriver.retire`. */
export async function retire(scope: Scope, selector: Selector, graceSeconds: number, context: CallContext): Promise<void> {
  try {
    const ids = await listContainers(scope, selector, context.signal);
    await inParallel(ids, atOnce, (id) => stopAndRemove(scope, id, { graceSeconds, signal: context.signal }));
  } catch (error) {
    throw translated(error, 'The instances could not be removed');
  }
}

interface Ending {
  /** Grace period in seconds, or null for the one with which the instance was created. */
  readonly graceSeconds: number | null;
  readonly signal: AbortSignal;
}

/** See `ClusterDisk.remove`. */
export async function removeInstance(scope: Scope, id: string, graceSeconds: number, { signal }: CallContext): Promise<void> {
  try {
    await stopAndRemove(scope, id, { graceSeconds, signal });
  } catch (error) {
    throw translated(error, 'The instance could not be removed');
  }
}

// Stops the container instead of killing and removing it. On Docker, a stop also disables the restart policy, so that
// the container is not restarted before its removal.
async function stopAndRemove(scope: Scope, id: string, ending: Ending): Promise<void> {
  const { graceSeconds, signal } = ending;
  await call(scope.docker, {
    method: 'POST',
    path: `/containers/${id}/stop`,
    ...(graceSeconds !== null && { query: { t: String(graceSeconds) } }),
    signal,
    accept: [304, 404],
    timeoutMilliseconds: (graceSeconds ?? 600) * 1000 + beyondGraceMilliseconds,
  });
  await removeContainer(scope, id, signal);
}

async function removeContainer(scope: Scope, id: string, signal: AbortSignal): Promise<void> {
  // `v` removes the image's anonymous volumes with the instance. Named volumes, which are the only ones Davit mounts,
  // stay.
  const query = { force: 'true', v: 'true' };
  const path = `/containers/${id}`;
  const answer = await call(scope.docker, { method: 'DELETE', path, query, signal, accept: [404, 409] });
  if (answer.status !== 409) return;
  // Another removal is in progress (an earlier call of Davit that was interrupted). Waits until the container is gone.
  while ((await inspect(scope.docker, id, signal)) !== null) await abortablePause(50, signal);
}

/** See `ClusterDriver.revive`. */
export async function revive(scope: Scope, id: string, context: CallContext): Promise<void> {
  const { signal } = context;
  const found = await inspect(scope.docker, id, signal);
  if (found === null)
    throw new DriverError({ cause: 'ENGINE_FAILED', message: `The instance ${id.slice(0, 12)} is no longer on the engine.` });
  // The grace period of a restart is the container's own StopTimeout.
  const action = found.State.Running && !found.State.Restarting ? 'restart' : 'start';
  try {
    const path = `/containers/${id}/${action}`;
    await call(scope.docker, { method: 'POST', path, signal, accept: [304], timeoutMilliseconds: 10 * beyondGraceMilliseconds });
  } catch (error) {
    throw translated(error, 'The instance could not be started again');
  }
}

/** See `ClusterDriver.removeService`. */
export async function removeService(
  scope: Scope,
  owner: { readonly environment: string; readonly service: string },
  context: CallContext,
): Promise<void> {
  await removeAll(scope, owner, context);
}

/** See `ClusterDriver.removeEnvironment`. */
export async function removeEnvironment(scope: Scope, environment: string, context: CallContext): Promise<void> {
  await removeAll(scope, { environment }, context);
  const networks = await listLabelled(scope, 'network', { environment }, context.signal);
  await inParallel(networks, atOnce, async (id) => {
    try {
      await call(scope.docker, { method: 'DELETE', path: `/networks/${id}`, signal: context.signal, accept: [404] });
    } catch (error) {
      throw translated(error, 'The network of the environment could not be removed');
    }
  });
}

async function removeAll(
  scope: Scope,
  owner: { readonly environment: string; readonly service?: string },
  context: CallContext,
): Promise<void> {
  const { signal } = context;
  try {
    const ids = await listContainers(scope, owner, signal);
    await inParallel(ids, atOnce, (id) => stopAndRemove(scope, id, { graceSeconds: null, signal }));
    const holders = await listSummaries(scope, 'address', owner, signal);
    await inParallel(holders, atOnce, ({ Id }) => removeContainer(scope, Id, signal));
    const volumes = await listLabelled(scope, 'volume', owner, signal);
    await inParallel(volumes, atOnce, (name) =>
      call(scope.docker, { method: 'DELETE', path: `/volumes/${encodeURIComponent(name)}`, signal, accept: [404] }),
    );
  } catch (error) {
    throw translated(error, 'Instances and volumes could not be removed');
  }
  const images = await listLabelled(scope, 'image', owner, signal);
  await inParallel(images, 2, (id) => removeImage(scope, id, signal));
}

async function removeImage(scope: Scope, id: string, signal: AbortSignal): Promise<void> {
  try {
    await call(scope.docker, { method: 'DELETE', path: `/images/${id}`, query: { force: 'true' }, signal, accept: [404] });
  } catch (error) {
    // The image is used by a container of somebody else, or is the base of somebody else's image. Its removal is left
    // to them.
    if (!(error instanceof EngineRefusal && error.status === 409)) throw translated(error, 'An image could not be removed');
  }
}
