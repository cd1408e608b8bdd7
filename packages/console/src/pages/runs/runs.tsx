import { useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { serviceHistoryPagesOf } from '../../data/queries.ts';
import { refusalIn } from '../../data/rights.ts';
import { cleanRuns, eventsOf, runNow, type Job, type JobEvent } from '../../data/runs.ts';
import { Button } from '../../parts/button.tsx';
import { ErrorNote, LoadingRows } from '../../parts/face.tsx';
import { DeploymentName, History } from '../../parts/history.tsx';
import { Ago, Cut } from '../../parts/page.tsx';
import { StateOf } from '../../parts/state.tsx';
import { duration, milliseconds } from '../../time.ts';
import { plural } from '../../words.ts';
import { versionOf, type HistoryEntry } from '../explanation.tsx';
import { useService } from '../service.tsx';

/** The runs of a job: what started each, how long it took, and why it failed. */
export function RunsPage(): ReactNode {
  const { service } = useService();
  if (service === undefined || service.service_type !== 'JOB') {
    return (
      <div className="box">
        <LoadingRows />
      </div>
    );
  }
  return <Runs job={service} />;
}

const eventWords: Readonly<Record<JobEvent, string>> = {
  START: 'Run on_start now',
  STOP: 'Run on_stop now',
  DELETE: 'Run on_delete now',
  CRON: 'Run now',
};

function Runs({ job }: { readonly job: Job }): ReactNode {
  const history = useInfiniteQuery(serviceHistoryPagesOf(job));
  const mayNot = useQuery(refusalIn(job.environment.id)).data ?? null;
  const run = useMutation({ mutationFn: (event: JobEvent) => runNow(job, event) });
  const clean = useMutation({ mutationFn: () => cleanRuns(job) });
  return (
    <>
      <div className="toolbar">
        <span className="text-muted flex-1 basis-64">{scheduleWords(job)}</span>
        {clean.data !== undefined && (
          <span className="text-muted" role="status">
            {clean.data === 0 ? 'Nothing was left on the cluster' : `${plural(clean.data, 'ended run')} removed`}
          </span>
        )}
        <Button refusal={mayNot ?? (clean.isPending ? 'It is being removed.' : null)} onClick={() => clean.mutate()}>
          Remove what ended runs left
        </Button>
        {eventsOf(job).map((event) => (
          <Button
            key={event}
            icon="play"
            refusal={mayNot ?? (run.isPending ? 'The server is asked.' : null)}
            onClick={() => run.mutate(event)}
          >
            {eventWords[event]}
          </Button>
        ))}
      </div>
      <ErrorNote error={run.error ?? clean.error} />
      <History history={history} advice="Deploy the job, or run it now: each run then stands here with its result.">
        {(entries) => <RunTable job={job} entries={entries} />}
      </History>
    </>
  );
}

function scheduleWords({ schedule }: Job): string {
  if (!('cronjob' in schedule)) return 'Runs when it is deployed, stopped or deleted, if it has a command for that.';
  const { scheduled_at: at, timezone } = schedule.cronjob;
  return `Runs at ${at} (${timezone}), once it is deployed.`;
}

function RunTable({ job, entries }: { readonly job: Job; readonly entries: readonly HistoryEntry[] }): ReactNode {
  return (
    <table className="list">
      <thead>
        <tr>
          <th className="w-[30%]">Run</th>
          <th className="w-[22%]">Result</th>
          <th>Version</th>
          <th className="w-[12%]">Took</th>
          <th className="w-[12%]">Time</th>
        </tr>
      </thead>
      <tbody>
        {entries.map((entry) => (
          <RunRow key={`${entry.identifier.execution_id} ${entry.auditing_data.created_at}`} job={job} entry={entry} />
        ))}
      </tbody>
    </table>
  );
}

function RunRow({ job, entry }: { readonly job: Job; readonly entry: HistoryEntry }): ReactNode {
  const { failure = null } = entry;
  const environmentId = job.environment.id;
  return (
    <>
      <tr className={failure === null ? '' : 'has-why'}>
        <DeploymentName
          environmentId={environmentId}
          executionId={entry.identifier.execution_id ?? ''}
          action={entry.status_details.action}
          by={entry.auditing_data.triggered_by}
        />
        <td>
          <StateOf word={entry.status} />
        </td>
        <td className="wide-only">
          <code>
            <Cut text={versionOf(entry)} />
          </code>
        </td>
        <td className="wide-only">{duration(milliseconds(entry.total_duration))}</td>
        <td className="wide-only nowrap">
          <Ago at={entry.auditing_data.created_at} />
        </td>
      </tr>
      {failure !== null && (
        <tr className="why">
          <td colSpan={5}>
            <div className="why-line">
              <b>{failure.message}</b>
              <span title={failure.hint}>{failure.hint}</span>
              <Link
                to="/environment/$environmentId/deployment/$executionId"
                params={{ environmentId, executionId: entry.identifier.execution_id ?? '' }}
              >
                Open the log
              </Link>
            </div>
          </td>
        </tr>
      )}
    </>
  );
}
