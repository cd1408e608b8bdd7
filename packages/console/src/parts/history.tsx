import { Link } from '@tanstack/react-router';
import type { UseInfiniteQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { deploymentNumber, sentence } from '../words.ts';
import { Face, FailedFace, LoadingRows } from './face.tsx';
import { Older } from './older.tsx';
import { Cut } from './page.tsx';

interface HistoryProps<Entry> {
  readonly history: UseInfiniteQueryResult<readonly Entry[]>;
  /** Advice that is shown while there is no deployment. */
  readonly advice: string;
  readonly children: (entries: readonly Entry[]) => ReactNode;
}

/** The box of a list of deployments, with its loading, failed and empty face. */
export function History<Entry>({ history, advice, children }: HistoryProps<Entry>): ReactNode {
  const { data, error } = history;
  if (data === undefined && error !== null) return <FailedFace error={error} />;
  return (
    <div className="box">
      {data === undefined && <LoadingRows />}
      {data?.length === 0 && (
        <Face icon="empty" title="Never deployed">
          {advice}
        </Face>
      )}
      {data !== undefined && data.length > 0 && children(data)}
      <Older
        what="deployments"
        hasOlder={history.hasNextPage}
        isReading={history.isFetchingNextPage}
        error={history.isFetchNextPageError ? error : null}
        onRead={() => void history.fetchNextPage()}
      />
    </div>
  );
}

interface DeploymentNameProps {
  readonly environmentId: string;
  readonly executionId: string;
  readonly action: string;
  readonly by: string;
}

/** The cell that names a deployment: its number as a link, what it did and who asked for it. */
export function DeploymentName({ environmentId, executionId, action, by }: DeploymentNameProps): ReactNode {
  return (
    <td>
      <div className="name">
        <Link to="/environment/$environmentId/deployment/$executionId" params={{ environmentId, executionId }}>
          Deployment {deploymentNumber(executionId)}
        </Link>
      </div>
      <div className="under">
        <Cut text={`${sentence(action)} by ${by}`} />
      </div>
    </td>
  );
}
