import type { ReactNode } from 'react';
import type { ServiceHistory } from '../data/queries.ts';
import type { ServiceStatus } from '../words.ts';

export type HistoryEntry = ServiceHistory['results'][number];

/** Returns what a deployment deployed, in one word: commit, image or chart. */
export function versionOf({ details }: HistoryEntry): string {
  if ('commit' in details && details.commit !== null) return details.commit.git_commit_id.slice(0, 7);
  if ('image_name' in details && details.image_name !== '') return `${details.image_name}:${details.tag}`;
  if ('repository' in details) return `${details.repository.chart_name} ${details.repository.chart_version}`;
  return 'no version';
}

/** Returns what differs between a deployment and the last one that succeeded before it; undefined if there is none. */
export function changedSince(history: readonly HistoryEntry[], executionId: string | undefined): ReactNode {
  const at = history.findIndex(({ identifier }) => identifier.execution_id === executionId);
  const failed = history[at];
  if (failed === undefined) return undefined;
  const worked = history
    .slice(at + 1)
    .find(({ status_details: { action, status } }) => action === 'DEPLOY' && status === 'SUCCESS');
  if (worked === undefined) return 'It has never worked: this is its first deployment that got so far.';
  const [before, after] = [versionOf(worked), versionOf(failed)];
  const isSameRelease = worked.release_id !== null && worked.release_id === failed.release_id;
  return (
    <>
      {before === after ? (
        <div>{`version  ${after}   unchanged`}</div>
      ) : (
        <div>
          {'version  '}
          <span className="minus">{before}</span> → <span className="plus">{after}</span>
        </div>
      )}
      <ChangedSettings failure={failed.failure ?? null} isSameRelease={isSameRelease} />
    </>
  );
}

interface ChangedSettingsProps {
  readonly failure: NonNullable<HistoryEntry['failure']> | null;
  readonly isSameRelease: boolean;
}

const mostSettings = 8;
const marks = { ADDED: '+', CHANGED: '~', REMOVED: '−' } as const;

/** The settings that differ, as they were recorded with the failure. */
function ChangedSettings({ failure, isSameRelease }: ChangedSettingsProps): ReactNode {
  const since = failure?.changed_since_success;
  if (since === undefined || since === null) return <div>{`configuration  ${isSameRelease ? 'unchanged' : 'changed'}`}</div>;
  const shown = since.changes.filter(({ path }) => path !== 'commit').slice(0, mostSettings);
  if (shown.length === 0) return <div>configuration unchanged</div>;
  return (
    <>
      {shown.map(({ path, kind }) => (
        <div key={path}>{`${marks[kind]} ${path}`}</div>
      ))}
      {since.total > shown.length + 1 && <div>{`and ${since.total - shown.length} more`}</div>}
    </>
  );
}

/** Returns whether anybody is harmed: what runs now, as the cluster reports it. */
export function nowOf({ running_instances: running, wanted_instances: wanted }: ServiceStatus): string | undefined {
  if (running === null || running === undefined || wanted === null || wanted === undefined) return undefined;
  if (running === 0) return 'No instance is running: nothing answers.';
  return `${running} of ${wanted} ${wanted === 1 ? 'instance is' : 'instances are'} running.`;
}
