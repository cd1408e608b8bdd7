import { retry } from '@davit/base';
import type { CallContext } from '../driver.ts';
import { DriverError } from '../errors.ts';
import type { Workload } from '../workload.ts';
import { toArchive } from './archive.ts';
import { keepAddress } from './bridge.ts';
import type { ClosedNetworks } from './closed-networks.ts';
import { toContainerBody, toPlacedFiles, type HostTraits } from './container-spec.ts';
import { call, EngineRefusal, type EngineRequest } from './engine-api.ts';
import { imageRemarks } from './image-remarks.ts';
import { inspect, labelsOf, type Inspection, type Scope } from './instances.ts';
import { environmentLabels, label, serviceLabels } from './labels.ts';
import { hasOwnInit } from './own-init.ts';
import { bridgeName, instanceName, networkName, volumeName } from './names.ts';
import { inParallel } from '../shared/parallel.ts';
import { lowered, translated } from './refusals.ts';

/** What a driver learns about its engine while it works. */
export interface EngineMemory {
  traits: HostTraits;
  /** Networks and volumes that were there when last looked at: saves asking for each instance. */
  readonly known: Set<string>;
  /** Networks being made: two at once would make two of the same name on Docker before 25. */
  readonly underWay: Map<string, Promise<void>>;
  readonly engine: 'docker' | 'podman';
  readonly closed: ClosedNetworks;
}

/** Makes network, volumes and instances exist and run. See `ClusterDriver.start`. */
export async function startWorkload(scope: Scope, memory: EngineMemory, workload: Workload, context: CallContext): Promise<void> {
  await prepare(scope, memory, workload, context);
  const first = workload.firstInstance ?? 0;
  if (first === 0) for (const remark of await imageRemarks(scope, workload, context.signal)) context.log(remark);
  const indices = Array.from({ length: workload.instances - first }, (_, index) => first + index);
  await inParallel(indices, 4, (index) => startInstance({ scope, memory, workload, index, context }));
}

interface Attempt {
  readonly scope: Scope;
  readonly memory: EngineMemory;
  readonly workload: Workload;
  readonly index: number;
  readonly context: CallContext;
}

async function prepare(scope: Scope, memory: EngineMemory, workload: Workload, context: CallContext): Promise<void> {
  await Promise.all([
    ensureNetwork(scope, memory, workload, context.signal),
    closeNetwork(memory, workload, context),
    ...workload.volumes.map((volume) => ensureVolume(scope, memory, { workload, volume: volume.id }, context.signal)),
  ]);
}

// Before anything listens in it. A firewall that refuses keeps nothing from running; the log of the deployment shows it.
async function closeNetwork(memory: EngineMemory, workload: Workload, context: CallContext): Promise<void> {
  try {
    await memory.closed.close([bridgeName(workload.owner)]);
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    context.log(`The firewall did not close the network of the environment to other environments: ${words}`);
  }
}

async function ensureNetwork(scope: Scope, memory: EngineMemory, workload: Workload, signal: AbortSignal): Promise<void> {
  const name = networkName(workload.owner);
  if (memory.known.has(name)) return;
  const making = memory.underWay.get(name) ?? makeNetwork(scope, memory.engine, workload, signal);
  memory.underWay.set(name, making);
  try {
    await making;
    memory.known.add(name);
  } catch (error) {
    throw translated(error, `The network of the environment could not be made`);
  } finally {
    memory.underWay.delete(name);
  }
}

async function makeNetwork(scope: Scope, engine: EngineMemory['engine'], workload: Workload, signal: AbortSignal): Promise<void> {
  const name = networkName(workload.owner);
  const found = await call(scope.docker, { method: 'GET', path: `/networks/${name}`, signal, accept: [404] });
  if (found.status !== 404) return;
  const body = {
    Name: name,
    Driver: 'bridge',
    CheckDuplicate: true,
    Options: {
      'com.docker.network.bridge.name': bridgeName(workload.owner),
      // Docker always isolates bridge networks. See `ClosedNetworks` for why this alone does not suffice on Podman.
      ...(engine === 'podman' && { isolate: 'true' }),
    },
    Labels: environmentLabels(workload.owner, 'network'),
  };
  // Podman 4.3 lists the machine's interfaces one by one, and fails when one goes away meanwhile, as any instance's does that
  // stops. That is no state of anything: asking again at once is right, and nobody above could know.
  const again = {
    attempts: 5,
    firstPauseMilliseconds: 20,
    maximumPauseMilliseconds: 200,
    isRetryable: hasInterfaceVanished,
    signal,
  };
  await retry(again, () => call(scope.docker, { method: 'POST', path: '/networks/create', body, signal, accept: [409] }));
}

function hasInterfaceVanished(error: unknown): boolean {
  return error instanceof EngineRefusal && /no such network interface/i.test(error.words);
}

async function ensureVolume(
  scope: Scope,
  memory: EngineMemory,
  { workload, volume }: { workload: Workload; volume: string },
  signal: AbortSignal,
): Promise<void> {
  const name = volumeName(scope.installation, volume);
  if (memory.known.has(name)) return;
  const body = { Name: name, Driver: 'local', Labels: serviceLabels(workload.owner, 'volume') };
  try {
    // One that is there is answered as if it had been made.
    await call(scope.docker, { method: 'POST', path: '/volumes/create', body, signal });
    memory.known.add(name);
  } catch (error) {
    throw translated(error, `The volume ${name} could not be made`);
  }
}

async function startInstance(attempt: Attempt): Promise<void> {
  const { scope, memory, workload, index, context } = attempt;
  const name = instanceName(workload, index);
  let hasNetworkBeenMade = false;
  for (;;) {
    const used = memory.traits;
    try {
      await createAndStart(attempt, name, used);
      return;
    } catch (error) {
      if (!hasNetworkBeenMade && isNetworkMissing(error)) {
        // The network that was known is gone: somebody removed it, or the engine lost its state.
        hasNetworkBeenMade = true;
        memory.known.clear();
        await prepare(scope, memory, workload, context);
      } else {
        // Another instance may have been refused the same a moment ago: then its lowering is simply used.
        const lower = memory.traits === used ? lowered(error, used) : { traits: memory.traits, what: '' };
        if (lower === null) throw translated(error, `Instance ${index} could not be started`);
        if (lower.what !== '') context.log(`This machine does not allow ${lower.what}.`);
        memory.traits = lower.traits;
      }
      await removeContainer(scope, name, context.signal);
    }
  }
}

// Docker notices at the start, Podman at the creation.
function isNetworkMissing(error: unknown): boolean {
  return error instanceof EngineRefusal && /network \S+ not found|unable to find network|network not found/i.test(error.words);
}

async function createAndStart(attempt: Attempt, name: string, traits: HostTraits): Promise<void> {
  const { scope, workload, index, context } = attempt;
  const { signal } = context;
  const body = toContainerBody(workload, index, traits, traits.initProcess && (await hasOwnInit(scope.docker, workload, signal)));
  const query = { name };
  const isMade = await create(scope, { method: 'POST', path: '/containers/create', query, body, signal });
  if (!isMade) {
    const found = await adopt(attempt, name);
    if (found === 'RUNS') return;
    if (found === 'GONE') return createAndStart(attempt, name, traits);
  }
  // Also for an adopted one: an earlier call may have ended between create and this. Nothing runs yet, so nothing sees halves.
  const { files, folders = [] } = workload;
  if (files.length > 0 || folders.length > 0) {
    const archive = await toArchive(toPlacedFiles(files), folders);
    await call(scope.docker, { method: 'PUT', path: `/containers/${name}/archive`, query: { path: '/' }, archive, signal });
  }
  await call(scope.docker, { method: 'POST', path: `/containers/${name}/start`, signal, accept: [304] });
  await keepAddress(bridgeName(workload.owner));
}

/** Whether a container was made; false: there is one of that name. */
async function create(scope: Scope, request: EngineRequest): Promise<boolean> {
  try {
    await call(scope.docker, request);
    return true;
  } catch (error) {
    // Podman says it with 500 when its storage noticed first.
    if (error instanceof EngineRefusal && (error.status === 409 || /name .* already in use/i.test(error.words))) return false;
    throw error;
  }
}

/** What to do with the container that has our name: nothing (it runs or ran), finish it, or make it anew. */
async function adopt(attempt: Attempt, name: string): Promise<'RUNS' | 'UNFINISHED' | 'GONE'> {
  const { scope, workload, context } = attempt;
  const found = await inspect(scope.docker, name, context.signal);
  if (found === null) return 'GONE';
  if (labelsOf(found)[label.installation] !== workload.owner.installation) throw foreign(found);
  if (found.State.Status === 'removing' || found.State.Dead) {
    await removeContainer(scope, name, context.signal);
    return 'GONE';
  }
  const hasStarted = !found.State.StartedAt.startsWith('0001-') && found.State.StartedAt !== '';
  return hasStarted ? 'RUNS' : 'UNFINISHED';
}

function foreign(found: Inspection): DriverError {
  return new DriverError({
    cause: 'ENGINE_FAILED',
    message: `The engine has a container named ${found.Name} that Davit did not make. Remove or rename it.`,
  });
}

async function removeContainer(scope: Scope, name: string, signal: AbortSignal): Promise<void> {
  const query = { force: 'true', v: 'true' };
  await call(scope.docker, { method: 'DELETE', path: `/containers/${name}`, query, signal, accept: [404, 409] });
}
