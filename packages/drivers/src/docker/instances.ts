import { inParallel, retry } from '@davit/base';
import type { EngineConnection } from './connection.ts';
import type { Endpoint, Instance, InstanceEnd, InstanceState, Selector } from '../workload.ts';
import { label, labelFilter, parsePorts, type ObjectKind } from './labels.ts';
import { instanceOf, matchesSelector, type Labels } from '../shared/labels.ts';
import { call, EngineRefusal } from './engine-api.ts';
import { wasKilledForMemory } from './kernel-log.ts';

/** The fields that Davit reads of a container (`GET /containers/{id}/json`). */
export interface Inspection {
  readonly Id: string;
  readonly Name: string;
  readonly Created: string;
  readonly Path: string;
  readonly Args: readonly string[];
  readonly RestartCount: number;
  readonly State: {
    readonly Status: string;
    readonly Running: boolean;
    readonly Restarting: boolean;
    readonly OOMKilled: boolean;
    readonly Dead: boolean;
    readonly Pid: number;
    readonly ExitCode: number;
    readonly Error: string;
    readonly StartedAt: string;
    readonly FinishedAt: string;
  };
  readonly Config: { readonly Labels: Labels };
  readonly HostConfig: {
    readonly Memory?: number;
    readonly Init?: boolean | null;
    readonly RestartPolicy?: { readonly Name: string };
  };
  readonly NetworkSettings: {
    readonly Networks: Readonly<Record<string, { readonly IPAddress: string }>> | null;
    readonly Ports: Readonly<Record<string, readonly { readonly HostIp: string; readonly HostPort: string }[] | null>> | null;
  };
  readonly Mounts: readonly { readonly Type: string; readonly Source: string; readonly Destination: string }[];
}

/** The engine, and the installation whose objects on it belong to this driver. */
export interface Scope {
  readonly docker: EngineConnection;
  readonly installation: string;
  /** Whether this machine reaches containers at their own addresses. */
  readonly isDirect: boolean;
}

export interface ReadyScope extends Scope {
  /** Whether the engine runs on this machine. */
  readonly isLocal: boolean;
  readonly engine: 'docker' | 'podman';
}

interface Labelled {
  readonly Labels: Labels | null;
}

/** The fields that Davit reads of a container in a list. */
export interface Summary extends Labelled {
  readonly Id: string;
  /** In words of the engine, such as `running`. */
  readonly State: string;
}

// Podman 4.3 inspects containers one by one, and fails if a container exits or is removed meanwhile. A retry succeeds.
const again = { attempts: 5, firstPauseMilliseconds: 20, maximumPauseMilliseconds: 200 };

/** Returns the ids of the selected instances, in the engine's order. */
export async function listContainers(scope: Scope, selector: Selector, signal: AbortSignal): Promise<string[]> {
  return (await listSummaries(scope, 'instance', selector, signal)).map(({ Id }) => Id);
}

/** Returns the selected containers of a kind, in the engine's order. */
export async function listSummaries(
  scope: Scope,
  kind: 'instance' | 'address',
  selector: Selector,
  signal: AbortSignal,
): Promise<Summary[]> {
  const query = { all: 'true', filters: JSON.stringify({ label: labelFilter(scope.installation, kind, selector) }) };
  const request = { method: 'GET', path: '/containers/json', query, signal } as const;
  const isRetryable = (error: unknown): boolean => isContainerGone(error) || isProcessGone(error);
  const answer = await retry({ ...again, isRetryable, signal }, () => call<readonly Summary[]>(scope.docker, request));
  return answer.body.filter(({ Labels }) => isOurs(scope, kind, Labels) && matchesSelector(Labels ?? {}, selector));
}

// Repeats the engine's filter. Given several label conditions, Podman 4.3 returns volumes that match any of them, and
// callers remove the listed objects.
function isOurs(scope: Scope, kind: ObjectKind, labels: Labels | null): boolean {
  return labels?.[label.installation] === scope.installation && labels[label.object] === kind;
}

/** Inspects a container by id or name. Returns null if it does not exist. */
export async function inspect(docker: EngineConnection, container: string, signal: AbortSignal): Promise<Inspection | null> {
  const path = `/containers/${encodeURIComponent(container)}/json`;
  try {
    const answer = await retry({ ...again, isRetryable: isProcessGone, signal }, () =>
      call<Inspection>(docker, { method: 'GET', path, signal, accept: [404] }),
    );
    return answer.status === 404 ? null : withKernelsWord(answer.body);
  } catch (error) {
    if (isContainerGone(error)) return null;
    throw error;
  }
}

/**
 * Returns whether the error means that the container is gone. Podman responds with 500 instead of 404 if a container
 * disappears during its inspection.
 */
function isContainerGone(error: unknown): boolean {
  return (
    error instanceof EngineRefusal && error.status === 500 && /no such container|no container with name or id/i.test(error.words)
  );
}

/**
 * Returns whether the error means that the process is gone. Podman responds with 500 if the process of a container
 * exits while Podman reads its `/proc` files.
 */
function isProcessGone(error: unknown): boolean {
  return error instanceof EngineRefusal && error.status === 500 && /\/proc\/\d+\/.*no such (process|file)/i.test(error.words);
}

/**
 * Results of searching the kernel log, by exit. They are cached because the log is long to read and drops old records.
 */
const requested = new Map<string, boolean>();
const maxAsked = 1000;

function withKernelsWord(inspection: Inspection): Inspection {
  const { State } = inspection;
  if (State.OOMKilled || State.ExitCode === 0 || toState(State) !== 'EXITED') return inspection;
  const end = `${inspection.Id} ${State.FinishedAt}`;
  const wasKilled = requested.get(end) ?? wasKilledForMemory(inspection.Id, State.StartedAt);
  if (requested.size >= maxAsked) requested.clear();
  requested.set(end, wasKilled);
  return wasKilled ? { ...inspection, State: { ...State, OOMKilled: true } } : inspection;
}

/**
 * Returns the inspections of the selected containers, ordered by rollout and index. Containers that disappear meanwhile
 * are omitted.
 */
export async function inspectSelected(scope: Scope, selector: Selector, signal: AbortSignal): Promise<Inspection[]> {
  const ids = await listContainers(scope, selector, signal);
  const found = await inParallel(ids, 8, (id) => inspect(scope.docker, id, signal));
  return found.filter((inspection) => inspection !== null).toSorted(compareInstances);
}

function compareInstances(a: Inspection, b: Inspection): number {
  const [left, right] = [labelsOf(a), labelsOf(b)];
  const rollouts = (left[label.rollout] ?? '').localeCompare(right[label.rollout] ?? '');
  return rollouts || Number(left[label.index]) - Number(right[label.index]);
}

/** Converts an inspection to an instance. Pure. */
export function toInstance(inspection: Inspection, { isDirect, engine }: Pick<ReadyScope, 'isDirect' | 'engine'>): Instance {
  const labels = labelsOf(inspection);
  const state = toState(inspection.State);
  const address = state === 'RUNNING' ? addressOf(inspection) : null;
  return {
    id: inspection.Id,
    name: inspection.Name.replace(/^\//, ''),
    ...instanceOf(labels),
    release: labels[label.release] ?? '',
    state,
    startedAt: toTime(inspection.State.StartedAt),
    exit:
      state === 'EXITED'
        ? {
            code: inspection.State.ExitCode,
            outOfMemory: inspection.State.OOMKilled,
            at: toTime(inspection.State.FinishedAt) ?? inspection.Created,
          }
        : null,
    ...toLastEnd(inspection, state),
    ...restartsOf(inspection),
    endpoints: state === 'RUNNING' ? toEndpoints(inspection, isDirect) : [],
    ...(address !== null && { address }),
    ...(labels[label.addressed] === 'true' && { isAddressed: true as const }),
    // With Podman, only Davit restarts instances.
    ...(engine === 'docker' && lacksRestartPolicy(inspection) && { needsRestartPolicy: true as const }),
  };
}

/** Returns the last end. While an instance runs again, engines keep the time of the previous exit, but not its code. */
function toLastEnd({ State }: Inspection, state: InstanceState): { readonly lastEnd?: InstanceEnd } {
  const at = toTime(State.FinishedAt);
  if (at === null) return {};
  return { lastEnd: { code: state === 'EXITED' ? State.ExitCode : null, outOfMemory: State.OOMKilled, at } };
}

/** The restart policy of instances that serve: the engine starts them again unless they were stopped. */
export const restartPolicy = 'unless-stopped';

/** Returns whether the engine does not restart a container by itself. */
function lacksRestartPolicy({ HostConfig }: Inspection): boolean {
  return HostConfig.RestartPolicy?.Name !== restartPolicy;
}

/**
 * Returns the number of restarts and the pause before the next one. Docker pauses a tenth of a second at first, then
 * twice as long each time, at most one minute. After ten seconds of running, the pause starts again at a tenth of a
 * second.
 */
function restartsOf(inspection: Inspection): Pick<Instance, 'restarts' | 'restartPauseSeconds'> {
  const { RestartCount: restarts, State } = inspection;
  if (lacksRestartPolicy(inspection) || !(restarts > 0)) return {};
  const ran = Date.parse(State.FinishedAt) - Date.parse(State.StartedAt);
  const pause = ran > 10_000 ? 0.1 : Math.min(0.1 * 2 ** Math.min(restarts, 20), 60);
  return { restarts, restartPauseSeconds: Math.ceil(pause) };
}

/** Returns the labels of an inspection. Engines return null if there are none. */
export function labelsOf(inspection: Inspection): Labels {
  const labels: Labels | null = inspection.Config.Labels;
  return labels ?? {};
}

// A restarting container has exited and is in the engine's back-off. It is unreachable until it runs.
function toState(state: Inspection['State']): InstanceState {
  if (state.Restarting) return 'EXITED';
  if (state.Running || state.Status === 'running' || state.Status === 'paused') return 'RUNNING';
  return state.Status === 'created' || state.Status === 'configured' || state.Status === 'initialized' ? 'CREATED' : 'EXITED';
}

/** Returns null for the year 1, which engines use for "never". */
function toTime(text: string): string | null {
  return text === '' || text.startsWith('0001-') ? null : text;
}

function toEndpoints(inspection: Inspection, isDirect: boolean): Endpoint[] {
  const ports = parsePorts(labelsOf(inspection)[label.ports]);
  return ports.flatMap(({ internalPort, transport }): Endpoint[] => {
    if (isDirect) {
      const address = addressOf(inspection);
      return address === null ? [] : [{ internalPort, host: address, port: internalPort }];
    }
    const published = inspection.NetworkSettings.Ports?.[`${internalPort}/${transport}`] ?? [];
    // The binding on the loopback address is Davit's. Another binding of the same port is a public UDP port of the
    // host.
    const binding = published.find(({ HostIp }) => HostIp !== '0.0.0.0' && HostIp !== '::') ?? published[0];
    return binding ? [{ internalPort, host: hostOf(binding.HostIp), port: Number(binding.HostPort) }] : [];
  });
}

function hostOf(address: string): string {
  return address === '' || address === '0.0.0.0' || address === '::' ? '127.0.0.1' : address;
}

/** Returns the address in the environment's network, or null if the engine assigned none (not running). */
export function addressOf(inspection: Inspection): string | null {
  const networks = Object.values(inspection.NetworkSettings.Networks ?? {});
  return networks.map((network) => network.IPAddress).find((address) => address !== '') ?? null;
}

/** Returns the names of Davit's volumes, or the ids of its networks or images, that match the selector. */
export async function listLabelled(
  scope: Scope,
  kind: 'network' | 'volume' | 'image',
  selector: Selector,
  signal: AbortSignal,
): Promise<string[]> {
  // Filters by one label, the narrowest. Given two labels, Podman 4.3 finds no image, and for volumes it accepts a
  // match of any label.
  const label = labelFilter(scope.installation, kind, selector).slice(-1);
  const query = { filters: JSON.stringify({ label }) };
  const isWanted = ({ Labels }: Labelled): boolean => isOurs(scope, kind, Labels) && matchesSelector(Labels ?? {}, selector);
  if (kind === 'volume') {
    const request = { method: 'GET', path: '/volumes', query, signal } as const;
    const answer = await call<{ readonly Volumes: readonly (Labelled & { readonly Name: string })[] | null }>(
      scope.docker,
      request,
    );
    return (answer.body.Volumes ?? []).filter(isWanted).map(({ Name }) => Name);
  }
  const path = kind === 'network' ? '/networks' : '/images/json';
  const request = { method: 'GET', path, query, signal } as const;
  const answer = await call<readonly (Labelled & { readonly Id: string })[]>(scope.docker, request);
  return answer.body.filter(isWanted).map(({ Id }) => Id);
}
