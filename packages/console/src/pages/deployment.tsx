import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { CallAnswer } from '@davit/client';
import { useEffect, useState, type ReactNode } from 'react';
import { api } from '../api.ts';
import { deploymentLogOf, detailsOf, historyOf } from '../data/queries.ts';
import { Face, FailedFace, LoadingRows } from '../parts/face.tsx';
import { LogLines, type LogLine } from '../parts/log-lines.tsx';
import { Ago, Box, Cut, CutAll, Head } from '../parts/page.tsx';
import { StateOf } from '../parts/state.tsx';
import { Verdict } from '../parts/verdict.tsx';
import { duration, fullTime, milliseconds, timeOfDay } from '../time.ts';
import { deploymentNumber, isUnderWay, lookOf, sentence, servicesOf, type Deployment } from '../words.ts';
import { DeploymentActions } from './deployment-actions.tsx';
import { Steps, type Selection } from './deployment-steps.tsx';
import { changedSince, nowOf } from './explanation.tsx';

type EnvironmentLogLine = CallAnswer<'listEnvironmentLogs'>[number];

export function DeploymentPage(): ReactNode {
  const { environmentId = '', executionId = '' } = useParams({ strict: false });
  const history = useInfiniteQuery(historyOf(environmentId));
  const { hasNextPage, isFetching, fetchNextPage, isFetchNextPageError } = history;
  const deployment = history.data?.find(({ identifier }) => identifier.execution_id === executionId);
  // An old deployment is on one of the older pages.
  const isSought = deployment === undefined && hasNextPage && !isFetchNextPageError;
  useEffect(() => {
    if (isSought && !isFetching) void fetchNextPage();
  }, [isSought, isFetching, fetchNextPage]);
  if (history.data === undefined || isSought || (deployment === undefined && isFetchNextPageError)) {
    return history.error === null ? (
      <div className="box">
        <LoadingRows />
      </div>
    ) : (
      <FailedFace error={history.error} isPage />
    );
  }
  if (deployment === undefined) {
    return (
      <Face icon="empty" title="Not found" isPage>
        This environment has no deployment with this number.
      </Face>
    );
  }
  return <DeploymentOf deployment={deployment} history={history.data} />;
}

function DeploymentOf({
  deployment,
  history,
}: {
  readonly deployment: Deployment;
  readonly history: readonly Deployment[];
}): ReactNode {
  const { execution_id: executionId, environment_id: environmentId } = deployment.identifier;
  const [selection, select] = useState<Selection>({ serviceId: null, name: 'All lines' });
  const details = useQuery(detailsOf(environmentId)).data;
  const isRunning = isUnderWay(deployment.status);
  useLiveLog(environmentId, executionId, isRunning);
  const statuses = new Map((details === undefined ? [] : servicesOf(details)).map((one) => [one.id, one]));
  const services = deployment.stages.flatMap((stage) => stage.services);
  const { created_at: at, triggered_by: by, origin } = deployment.auditing_data;
  return (
    <>
      <Head
        title={`Deployment ${deploymentNumber(executionId)}`}
        facts={
          <>
            <StateOf word={deployment.status} />
            {!isRunning && <span>after {duration(milliseconds(deployment.total_duration))}</span>}
            <Commit deployment={deployment} />
            <span className="cut" title={fullTime(at)}>
              {sentence(deployment.trigger_action)} by <bdi>{by}</bdi> ({origin}), <Ago at={at} />
            </span>
          </>
        }
        actions={<DeploymentActions deployment={deployment} isRunning={isRunning} />}
      />
      {services.map(({ failure, identifier }) => {
        if (failure === null || failure === undefined) return null;
        const status = statuses.get(identifier.service_id);
        const own = history.flatMap((one) => one.stages.flatMap((stage) => stage.services));
        const ofService = own.filter((one) => one.identifier.service_id === identifier.service_id);
        return (
          <Verdict
            key={identifier.service_id}
            failure={{ ...failure, message: `${identifier.name}: ${failure.message}` }}
            changed={changedSince(ofService, executionId)}
            now={status === undefined ? undefined : nowOf(status)}
            actions={
              <Link
                className="button small"
                to="/environment/$environmentId/service/$serviceId/logs"
                params={{ environmentId, serviceId: identifier.service_id }}
              >
                <Cut text={`Logs of ${identifier.name}`} />
              </Link>
            }
          />
        );
      })}
      <div className="split">
        <Box title="Steps" more={`began ${timeOfDay(at)}`}>
          <Steps deployment={deployment} statuses={statuses} selection={selection} onSelect={select} />
        </Box>
        <DeploymentLog environmentId={environmentId} executionId={executionId} selection={selection} />
      </div>
    </>
  );
}

function Commit({ deployment }: { readonly deployment: Deployment }): ReactNode {
  const commits = deployment.stages.flatMap(({ services }) =>
    services.flatMap(({ details }) => ('commit' in details && details.commit !== null ? [details.commit] : [])),
  );
  const [first] = commits;
  if (first === undefined || commits.some((one) => one.git_commit_id !== first.git_commit_id)) return null;
  return (
    <span className="cut">
      <code>{first.git_commit_id.slice(0, 7)}</code> <bdi>{first.message}</bdi>
    </span>
  );
}

interface DeploymentLogProps {
  readonly environmentId: string;
  readonly executionId: string;
  readonly selection: Selection;
}

function DeploymentLog({ environmentId, executionId, selection }: DeploymentLogProps): ReactNode {
  const log = useQuery(deploymentLogOf(environmentId, executionId));
  const lines = (log.data ?? [])
    .filter(({ details }) => selection.serviceId === null || details.transmitter?.id === selection.serviceId)
    .map(toLine);
  return (
    <Box title="Log" more={<CutAll texts={[selection.name, String(lines.length)]} />}>
      {log.data === undefined && log.error === null && <LoadingRows />}
      {log.data === undefined && log.error !== null && <FailedFace error={log.error} />}
      {log.data !== undefined && lines.length === 0 && <div className="quiet-line">No lines</div>}
      {lines.length > 0 && <LogLines lines={lines} isShort doesWrap doesFollow label="Log of the deployment" />}
    </Box>
  );
}

function toLine({ timestamp, type, error, message, details }: EnvironmentLogLine, index: number): LogLine {
  const text = message?.full_details ?? message?.safe_message ?? error?.user_log_message ?? '';
  const isEvidence = details.stage?.step === 'evidence';
  return {
    id: String(index),
    at: timestamp,
    text: isEvidence ? `│ ${text}` : text,
    level: lookOf(type),
  };
}

/** Milliseconds for which new lines are collected before the log is read again. */
const collectMilliseconds = 400;

/** Reads the log of a running deployment again when it has new lines. */
function useLiveLog(environmentId: string, executionId: string, isRunning: boolean): void {
  const queries = useQueryClient();
  useEffect(() => {
    if (!isRunning) return undefined;
    const leave = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = (): void => {
      timer = undefined;
      const queryKey = ['deploymentLog', environmentId, executionId];
      // A long log is read to its end before it is read again.
      if (queries.isFetching({ queryKey }) > 0) timer = setTimeout(read, collectMilliseconds);
      else void queries.invalidateQueries({ queryKey });
    };
    const follow = async (): Promise<void> => {
      const organizationId = (await api().call('getEnvironment', { params: { environmentId } })).organization.id;
      const query = { kinds: 'DEPLOYMENT_LOG', environmentId };
      const lines = api().stream('streamOrganization', { params: { organizationId }, query, signal: leave.signal });
      for await (const line of lines) if (line.event === 'DEPLOYMENT_LOG') timer ??= setTimeout(read, collectMilliseconds);
    };
    // The page has its own reads and says what is wrong with the connection.
    follow().catch(() => undefined);
    return () => {
      leave.abort();
      clearTimeout(timer);
    };
  }, [environmentId, executionId, isRunning, queries]);
}
