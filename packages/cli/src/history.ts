import type { Client } from '@davit/client';
import { callKind, histories, type History } from './kinds.ts';
import type { ServiceReference } from './location.ts';

export type HistoryEntry = History['results'][number];

/** Returns the newest deployments of a service, newest first. */
export async function readHistory(client: Client, service: ServiceReference, count = 50): Promise<readonly HistoryEntry[]> {
  return (await callKind(histories(count), client, service, 'deployed')).results;
}

/** Returns the number of a deployment in its environment: the last part of its id. */
export function deploymentNumber(executionId: string | undefined): string {
  return /-(\d+)$/.exec(executionId ?? '')?.[1] ?? executionId ?? '';
}

/** Returns what a deployment deployed, in one word: commit, image or chart. */
export function versionOf({ details }: Pick<HistoryEntry, 'details'>): string {
  if ('commit' in details && details.commit !== null) return details.commit.git_commit_id.slice(0, 7);
  if ('image_name' in details && details.image_name !== '') return `${details.image_name}:${details.tag}`;
  if ('repository' in details) return `${details.repository.chart_name} ${details.repository.chart_version}`;
  return '';
}

/** Returns the first line of the commit's message; an empty text if there is no commit. */
export function titleOf({ details }: Pick<HistoryEntry, 'details'>): string {
  if (!('commit' in details) || details.commit === null) return '';
  return details.commit.message.split('\n')[0] ?? '';
}

export function hasSucceeded({ status_details: { action, status } }: HistoryEntry): boolean {
  return action === 'DEPLOY' && status === 'SUCCESS';
}

/** Returns the last deployment before another one that succeeded; undefined if none did. */
export function workedBefore(history: readonly HistoryEntry[], executionId: string | undefined): HistoryEntry | undefined {
  const at = history.findIndex(({ identifier }) => identifier.execution_id === executionId);
  return history.slice(at + 1).find(hasSucceeded);
}
