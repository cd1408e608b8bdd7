import { allEnded, inParallel, messageOf, retry, type RetryOptions } from '@davit/base';
import type { CallContext } from '../driver.ts';
import { DriverError } from '../errors.ts';
import type { Workload } from '../workload.ts';
import { halvesOf } from './address-rules.ts';
import { isNetworkMissing, type Addresses } from './addresses.ts';
import { toArchive } from './archive.ts';
import { keepAddress } from './bridge.ts';
import type { ClosedNetworks } from './closed-networks.ts';
import { toContainerBody, toArchiveEntries, type HostTraits } from './container-spec.ts';
import { call, EngineRefusal, type EngineRequest } from './engine-api.ts';
import { readImageConfig, type ImageConfig } from './image-config.ts';
import { imageRemarks } from './image-remarks.ts';
import { inspect, labelsOf, type Inspection, type Scope } from './instances.ts';
import { environmentLabels, label, serviceLabels } from './labels.ts';
import type { Labels } from '../shared/labels.ts';
import { hasOwnInit } from './own-init.ts';
import { bridgeName, instanceName, networkName, volumeName } from './names.ts';
import { lowered, translated } from './refusals.ts';

/** State that a driver learns about its engine at run time. */
export interface EngineMemory {
  traits: HostTraits;
  /** Names of networks and volumes that existed at the last check. Saves a request for each instance. */
  readonly known: Set<string>;
  /**
   * Networks that are being created, by name. Two concurrent requests would create two networks with the same name on
   * Docker before 25.
   */
  readonly underWay: Map<string, Promise<void>>;
  readonly engine: 'docker' | 'podman';
  readonly closed: ClosedNetworks;
  /** Undefined if services get no address that stays. */
  readonly addresses: Addresses | undefined;
}

/** Creates the network, the volumes and the instances, and starts the instances. See `ClusterDriver.start`. */
export async function startWorkload(scope: Scope, memory: EngineMemory, workload: Workload, context: CallContext): Promise<void> {
  const [isAddressed, image] = await allEnded([
    prepare(scope, memory, workload, context),
    readImageConfig(scope.docker, workload.image, context.signal),
  ]);
  const first = workload.firstInstance ?? 0;
  if (first === 0) for (const remark of imageRemarks(image, workload)) context.log(remark);
  const indices = Array.from({ length: workload.instances - first }, (_, index) => first + index);
  await inParallel(indices, 4, (index) => startInstance({ scope, memory, workload, image, index, context, isAddressed }));
  if (isAddressed) await memory.addresses?.pointIdle(workload, context.signal);
}

interface Attempt {
  readonly scope: Scope;
  readonly memory: EngineMemory;
  readonly workload: Workload;
  readonly image: ImageConfig;
  readonly index: number;
  readonly context: CallContext;
  /** Whether the names of the service lead to its address. */
  readonly isAddressed: boolean;
}

/** Creates what the instances need. Returns whether their service has an address. */
async function prepare(scope: Scope, memory: EngineMemory, workload: Workload, context: CallContext): Promise<boolean> {
  await allEnded([
    ensureNetwork(scope, memory, workload, context.signal),
    closeNetwork(memory, workload, context),
    ...workload.volumes.map((volume) => ensureVolume(scope, memory, { workload, volume: volume.id }, context.signal)),
  ]);
  const { addresses } = memory;
  return addresses === undefined ? false : addresses.ensure(workload, (line) => context.log(line), context.signal);
}

// Closes the network before anything listens in it. A failing firewall does not prevent the start; the deployment log
// shows the failure.
async function closeNetwork(memory: EngineMemory, workload: Workload, context: CallContext): Promise<void> {
  try {
    await memory.closed.close([bridgeName(workload.owner)]);
  } catch (error) {
    const words = messageOf(error);
    context.log(`The firewall did not close the network of the environment to other environments: ${words}`);
  }
}

async function ensureNetwork(scope: Scope, memory: EngineMemory, workload: Workload, signal: AbortSignal): Promise<void> {
  const name = networkName(workload.owner);
  if (memory.known.has(name)) return;
  const making = memory.underWay.get(name) ?? makeNetwork(scope, memory, workload, signal);
  memory.underWay.set(name, making);
  try {
    await making;
    memory.known.add(name);
  } catch (error) {
    throw translated(error, `The network of the environment could not be created`);
  } finally {
    memory.underWay.delete(name);
  }
}

async function makeNetwork(scope: Scope, memory: EngineMemory, workload: Workload, signal: AbortSignal): Promise<void> {
  const { engine, addresses } = memory;
  const name = networkName(workload.owner);
  const found = await call(scope.docker, { method: 'GET', path: `/networks/${name}`, signal, accept: [404] });
  if (found.status !== 404) return;
  const body = {
    Name: name,
    Driver: 'bridge',
    CheckDuplicate: true,
    Options: {
      'com.docker.network.bridge.name': bridgeName(workload.owner),
      // Docker always isolates bridge networks. See `ClosedNetworks` for why this option alone does not suffice on
      // Podman.
      ...(engine === 'podman' && { isolate: 'true' }),
    },
    Labels: environmentLabels(workload.owner, 'network'),
  };
  // Podman 4.3 lists the machine's interfaces one by one, and fails if an interface disappears meanwhile, as happens
  // whenever an instance stops. This failure does not reflect a lasting state, and callers could not recognize it, so
  // an immediate retry is right.
  const again = {
    attempts: 5,
    firstPauseMilliseconds: 20,
    maximumPauseMilliseconds: 200,
    isRetryable: hasInterfaceVanished,
    signal,
  };
  await retry(again, () => call(scope.docker, { method: 'POST', path: '/networks/create', body, signal, accept: [409] }));
  if (addresses !== undefined) await reserveAddresses(scope, body, signal, again);
}

/**
 * Reserves half of the subnet for the addresses of services, so that the engine gives none of them to an instance while
 * a holder does not run. Docker accepts a chosen address only in a network whose subnet was chosen too, so the network
 * is created again with the subnet that the engine has found for it.
 */
async function reserveAddresses(
  scope: Scope,
  body: { readonly Name: string; readonly Labels: Labels },
  signal: AbortSignal,
  again: RetryOptions,
): Promise<void> {
  const path = `/networks/${body.Name}`;
  const made = await call<NetworkAnswer>(scope.docker, { method: 'GET', path, signal });
  const subnet = made.body.IPAM?.Config?.find((one) => one.Subnet?.includes('.') === true)?.Subnet;
  if (subnet === undefined || Object.keys(made.body.Containers ?? {}).length > 0) return;
  const { instances, services } = halvesOf(subnet);
  const reserved = {
    ...body,
    IPAM: { Config: [{ Subnet: subnet, IPRange: instances }] },
    Labels: { ...body.Labels, [label.addresses]: services },
  };
  await retry(again, () => call(scope.docker, { method: 'DELETE', path, signal, accept: [404] }));
  try {
    await retry(again, () => call(scope.docker, { method: 'POST', path: '/networks/create', body: reserved, signal }));
  } catch (error) {
    if (!(error instanceof EngineRefusal)) throw error;
    // Another network has got the subnet in between. Holders then have addresses that the engine chooses.
    await retry(again, () => call(scope.docker, { method: 'POST', path: '/networks/create', body, signal, accept: [409] }));
  }
}

interface NetworkAnswer {
  readonly IPAM?: { readonly Config?: readonly { readonly Subnet?: string }[] | null } | null;
  readonly Containers?: Readonly<Record<string, unknown>> | null;
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
    // An existing volume returns the same response as a new one.
    await call(scope.docker, { method: 'POST', path: '/volumes/create', body, signal });
    memory.known.add(name);
  } catch (error) {
    throw translated(error, `The volume ${name} could not be created`);
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
        // The known network is gone: somebody removed it, or the engine lost its state.
        hasNetworkBeenMade = true;
        memory.known.clear();
        await prepare(scope, memory, workload, context);
      } else {
        // Another instance may have met the same refusal a moment ago. Then its lowered traits are used.
        const lower = memory.traits === used ? lowered(error, used, workload) : { traits: memory.traits, what: '' };
        if (lower === null) throw translated(error, `Instance ${index} could not be started`);
        if (lower.what !== '') context.log(`This machine does not allow ${lower.what}.`);
        memory.traits = lower.traits;
      }
      await removeContainer(scope, name, context.signal);
    }
  }
}

async function createAndStart(attempt: Attempt, name: string, traits: HostTraits): Promise<void> {
  const { scope, workload, index, context } = attempt;
  const { signal } = context;
  const isInit = traits.initProcess && hasOwnInit(attempt.image, workload);
  const body = toContainerBody(workload, index, traits, { hasOwnInit: isInit, isAddressed: attempt.isAddressed });
  const query = { name };
  const isMade = await create(scope, { method: 'POST', path: '/containers/create', query, body, signal });
  if (!isMade) {
    const found = await adopt(attempt, name);
    if (found === 'RUNS') return;
    if (found === 'GONE') return createAndStart(attempt, name, traits);
  }
  // Files are also written into an adopted container: an earlier call may have ended between creation and this step.
  // Nothing runs yet, so no process sees partial files.
  const { files, folders = [] } = workload;
  if (files.length > 0 || folders.length > 0) {
    const archive = await toArchive(toArchiveEntries(files), folders);
    await call(scope.docker, { method: 'PUT', path: `/containers/${name}/archive`, query: { path: '/' }, archive, signal });
  }
  await call(scope.docker, { method: 'POST', path: `/containers/${name}/start`, signal, accept: [304] });
  await keepAddress(bridgeName(workload.owner));
}

/** Creates a container. Returns false if a container with that name exists. */
async function create(scope: Scope, request: EngineRequest): Promise<boolean> {
  try {
    await call(scope.docker, request);
    return true;
  } catch (error) {
    // Podman responds with 500 if its storage detects the conflict first.
    if (error instanceof EngineRefusal && (error.status === 409 || /name .* already in use/i.test(error.words))) return false;
    throw error;
  }
}

/**
 * Decides how to proceed with the existing container of that name:
 * - `RUNS`: nothing to do; the container runs or ran.
 * - `UNFINISHED`: finish its creation and start it.
 * - `GONE`: create it again.
 */
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
    message: `The engine has a container named ${found.Name} that Davit did not create. Remove or rename it.`,
  });
}

async function removeContainer(scope: Scope, name: string, signal: AbortSignal): Promise<void> {
  const query = { force: 'true', v: 'true' };
  await call(scope.docker, { method: 'DELETE', path: `/containers/${name}`, query, signal, accept: [404, 409] });
}
