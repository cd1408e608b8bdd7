import type { Node } from 'kubernetes-types/core/v1.js';
import type { ClusterDescription } from '../driver.ts';
import { call, unreachable, type Api } from './api.ts';
import { list } from './follow.ts';
import { pathOf } from './objects.ts';
import { toNumber } from './quantity.ts';
import { translated } from './refusals.ts';

const answerMilliseconds = 5_000;

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

/**
 * See `ClusterDriver.ping`. A namespace that every cluster has, as the server looks it up where it stores everything: its version it tells also when
 * it can do nothing else. Whoever may not see it has been answered.
 */
export async function pingCluster(api: Api, signal: AbortSignal): Promise<void> {
  const path = pathOf('Namespace', { name: 'default' });
  await soon(signal, (within) => call(api, { method: 'GET', path, signal: within, accept: [403, 404] }));
}

/** See `ClusterDriver.describe`. How large it is, is what pods may have of the nodes that take some. */
export async function describeCluster(api: Api, signal: AbortSignal): Promise<ClusterDescription> {
  return soon(signal, async (within) => {
    const [version, nodes] = await Promise.all([
      askVersion(api, within),
      // As the server has them in memory: what nodes are called and hold seldom changes, and of many that is megabytes.
      list<Node>(api, { path: pathOf('Node'), query: { resourceVersion: '0' } }, within),
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
  });
}

async function soon<Answer>(signal: AbortSignal, ask: (within: AbortSignal) => Promise<Answer>): Promise<Answer> {
  const limit = AbortSignal.timeout(answerMilliseconds);
  try {
    return await ask(AbortSignal.any([signal, limit]));
  } catch (error) {
    signal.throwIfAborted();
    if (limit.aborted) throw unreachable('does not answer', new Error(`no answer within ${answerMilliseconds / 1000} s`));
    throw translated(error, 'The cluster could not be asked');
  }
}
