import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { deployCommit, gitEventsOf, type GitEvent, type GitVerdict } from '../../data/git-events.ts';
import { refusalIn } from '../../data/rights.ts';
import { Button } from '../../parts/button.tsx';
import { ErrorNote, Face, FailedFace, LoadingRows } from '../../parts/face.tsx';
import { Ago, Cut } from '../../parts/page.tsx';
import { State } from '../../parts/state.tsx';
import { sentence, type Service, type Shape } from '../../words.ts';
import { useService } from '../service.tsx';
import { GitWebhook } from './webhook.tsx';

/** Pushes and pull requests, and why each did or did not deploy the service. */
export function GitEventsPage(): ReactNode {
  const { service } = useService();
  if (service === undefined) {
    return (
      <div className="box">
        <LoadingRows />
      </div>
    );
  }
  return (
    <>
      <GitWebhook service={service} />
      <Events service={service} />
    </>
  );
}

const verdictShapes: Readonly<Record<GitVerdict['verdict'], Shape>> = {
  DEPLOYED: 'ok',
  PREVIEWED: 'ok',
  PREVIEW_REMOVED: 'off',
  IGNORED: 'off',
  FAILED: 'bad',
};
const statusShapes: Readonly<Record<GitEvent['status'], Shape>> = {
  WAITING: 'wait',
  DONE: 'off',
  REFUSED: 'warn',
  FAILED: 'bad',
};

function Events({ service }: { readonly service: Service }): ReactNode {
  const events = useQuery(gitEventsOf(service));
  if (events.data === undefined && events.error !== null) {
    return <FailedFace error={events.error} onRetry={() => void events.refetch()} />;
  }
  return (
    <div className="box">
      {events.data === undefined && <LoadingRows />}
      {events.data?.length === 0 && (
        <Face icon="lines" title="No push yet">
          Pushes and pull requests of the repository stand here, each with what it did for this service, or why it did nothing.
        </Face>
      )}
      {events.data !== undefined && events.data.length > 0 && (
        <table className="list">
          <thead>
            <tr>
              <th className="w-[34%]">Event</th>
              <th>What it did here</th>
              <th className="w-[12%]">Time</th>
              <th className="w-[164px]">
                <span className="sr-only">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {events.data.map((event) => (
              <EventRow key={event.id} service={service} event={event} />
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

function EventRow({ service, event }: { readonly service: Service; readonly event: GitEvent }): ReactNode {
  const { summary, branch, pull_request: pull, git_commit_id: commit } = event;
  const where = [
    sentence(event.kind),
    pull === null ? branch : `#${pull}`,
    commit?.slice(0, 7),
    event.source === 'POLLING' ? 'found by asking' : null,
  ];
  const own = event.verdicts.filter(({ service_id: id }) => id === service.id);
  return (
    <tr>
      <td>
        <div className="name">
          <Cut text={summary} />
        </div>
        <div className="under">
          <Cut text={where.filter((one) => one !== null && one !== undefined).join(' · ')} />
        </div>
      </td>
      <td className="fields">
        {own.map((verdict) => (
          <Verdict key={`${verdict.verdict} ${verdict.reason}`} verdict={verdict} />
        ))}
        {own.length === 0 && (
          <>
            <State shape={statusShapes[event.status]}>{sentence(event.status)}</State>
            <div className="under reason">
              <bdi>{event.reason}</bdi>
              {event.times > 1 && ` (${event.times} times)`}
            </div>
          </>
        )}
      </td>
      <td className="wide-only nowrap">
        <Ago at={event.created_at} />
      </td>
      <td className="do text-right">
        <Again service={service} event={event} didDeploy={own.some(({ verdict }) => verdict === 'DEPLOYED')} />
      </td>
    </tr>
  );
}

function Verdict({ verdict: { verdict, reason, environment_id: environmentId } }: { readonly verdict: GitVerdict }): ReactNode {
  return (
    <>
      <State shape={verdictShapes[verdict]}>{sentence(verdict)}</State>
      <div className="under reason">
        <bdi>{reason}</bdi>
        {verdict === 'PREVIEWED' && (
          <>
            {' '}
            <Link className="link" to="/environment/$environmentId/previews" params={{ environmentId }}>
              Previews
            </Link>
          </>
        )}
      </div>
    </>
  );
}

interface AgainProps {
  readonly service: Service;
  readonly event: GitEvent;
  readonly didDeploy: boolean;
}

/** Deploys a commit whose push did not deploy. */
function Again({ service, event, didDeploy }: AgainProps): ReactNode {
  const mayNot = useQuery(refusalIn(service.environment.id)).data ?? null;
  const deploy = useMutation({ mutationFn: (commit: string) => deployCommit(service, commit) });
  const commit = event.git_commit_id;
  if (commit === null || event.kind !== 'PUSH') return null;
  return (
    <>
      <Button
        isSmall
        refusal={mayNot ?? (didDeploy ? 'This push did deploy.' : deploy.isSuccess ? 'It is queued.' : null)}
        onClick={() => deploy.mutate(commit)}
      >
        Deploy this commit
      </Button>
      <ErrorNote error={deploy.error} />
    </>
  );
}
