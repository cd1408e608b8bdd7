import type { Node } from 'kubernetes-types/core/v1.js';
import type { ClusterDescription } from '../driver.ts';
import { call, unreachable, type Api } from './api.ts';
import { list } from './follow.ts';
import { toNumber } from './quantity.ts';
import { translated } from './refusals.ts';

const describeMilliseconds = 5_000;

export interface Version {
  readonly gitVersion: string;
  readonly major: string;
  readonly minor: string;
}

export async function askVersion(api: Api, signal: AbortSignal): Promise<Version> {
  return (await call<Version>(api, { method: 'GET', path: '/version', signal })).body;
}

/** Whether a server is of this version or later. Some write `30+`. Pure. */
export function isAtLeast({ major, minor }: Version, wanted: { readonly major: number; readonly minor: number }): boolean {
  const [ownMajor, ownMinor] = [Number.parseInt(major, 10), Number.parseInt(minor, 10)];
  return ownMajor > wanted.major || (ownMajor === wanted.major && ownMinor >= wanted.minor);
}

/** See `ClusterDriver.describe`. How large it is, is what pods may have of the nodes that take some. */
export async function describeCluster(api: Api, signal: AbortSignal): Promise<ClusterDescription> {
  const soon = AbortSignal.any([signal, AbortSignal.timeout(describeMilliseconds)]);
  try {
    const [version, nodes] = await Promise.all([
      askVersion(api, soon),
      list<Node>(api, { path: '/api/v1/nodes', query: {} }, soon),
    ]);
    const open = nodes.items.filter(({ spec }) => spec?.unschedulable !== true).map(({ status }) => status?.allocatable ?? {});
    const sum = (name: string): number => open.reduce((total, amounts) => total + toNumber(amounts[name]), 0);
    return {
      engine: 'kubernetes',
      version: version.gitVersion.replace(/^v/, ''),
      apiVersion: 'v1',
      cpuMillicores: Math.round(sum('cpu') * 1000),
      memoryMiB: Math.floor(sum('memory') / 2 ** 20),
    };
  } catch (error) {
    signal.throwIfAborted();
    if (soon.aborted) throw unreachable('does not answer', new Error(`no answer within ${describeMilliseconds / 1000} s`));
    throw translated(error, 'The cluster could not be described');
  }
}
