import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { serviceHistoryPagesOf } from '../../data/queries.ts';
import { comparisonOf, type Comparison } from '../../data/releases.ts';
import { Face, FailedFace, LoadingRows } from '../../parts/face.tsx';
import { FormField } from '../../parts/form-field.tsx';
import { Older } from '../../parts/older.tsx';
import { fullTime } from '../../time.ts';
import { deploymentNumber, plural, type Service } from '../../words.ts';
import { versionOf, type HistoryEntry } from '../explanation.tsx';
import { useService } from '../service.tsx';
import { ChangeTable } from './changes.tsx';

/** Two releases of a service, or a release and the settings as they are now, side by side. */
export function ComparePage(): ReactNode {
  const { service } = useService();
  if (service === undefined) {
    return (
      <div className="box">
        <LoadingRows />
      </div>
    );
  }
  return <Compare service={service} />;
}

function Compare({ service }: { readonly service: Service }): ReactNode {
  const { from, to } = useSearch({ strict: false });
  const navigate = useNavigate();
  const history = useInfiniteQuery(serviceHistoryPagesOf(service));
  const comparison = useQuery(comparisonOf(service, { from, to }));
  const releases = releasesIn(history.data ?? []);
  const choose = (change: { from?: string | undefined; to?: string | undefined }): void => {
    void navigate({ to: '.', search: { from, to, ...change }, replace: true });
  };
  return (
    <>
      <div className="toolbar compare-choice">
        <FormField label="Earlier">
          {(control) => (
            <select {...control} value={from ?? ''} onChange={({ target }) => choose({ from: target.value || undefined })}>
              <option value="">{to === undefined ? 'What is deployed' : 'What worked before'}</option>
              <Options releases={releases} chosen={from} />
            </select>
          )}
        </FormField>
        <FormField label="Later">
          {(control) => (
            <select {...control} value={to ?? ''} onChange={({ target }) => choose({ to: target.value || undefined })}>
              <option value="">The settings as they are now</option>
              <Options releases={releases} chosen={to} />
            </select>
          )}
        </FormField>
        <Link
          className="button"
          to="/environment/$environmentId/service/$serviceId/history"
          params={{ environmentId: service.environment.id, serviceId: service.id }}
        >
          History
        </Link>
        <Older
          what="releases"
          hasOlder={history.hasNextPage}
          isReading={history.isFetchingNextPage}
          error={history.isFetchNextPageError ? history.error : null}
          onRead={() => void history.fetchNextPage()}
        />
      </div>
      {comparison.error !== null && <FailedFace error={comparison.error} onRetry={() => void comparison.refetch()} />}
      {comparison.error === null && (
        <div className="box">
          {comparison.data === undefined ? <LoadingRows /> : <Differences comparison={comparison.data} />}
        </div>
      )}
    </>
  );
}

interface Release {
  readonly id: string;
  readonly name: string;
}

/** Returns the releases of a history, newest first, each with the deployment that deployed it last. */
function releasesIn(history: readonly HistoryEntry[]): Release[] {
  const found = new Map<string, Release>();
  for (const entry of history) {
    const { release_id: id, identifier, auditing_data: audit } = entry;
    if (id === null || found.has(id)) continue;
    const name = `Deployment ${deploymentNumber(identifier.execution_id ?? '')} · ${versionOf(entry)} · ${fullTime(audit.created_at)}`;
    found.set(id, { id, name });
  }
  return [...found.values()];
}

function Options({
  releases,
  chosen,
}: {
  readonly releases: readonly Release[];
  readonly chosen: string | undefined;
}): ReactNode {
  return (
    <>
      {releases.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
      {chosen !== undefined && !releases.some(({ id }) => id === chosen) && <option value={chosen}>An older release</option>}
    </>
  );
}

function Differences({ comparison: { from, to, changes } }: { readonly comparison: Comparison }): ReactNode {
  if (from === null) {
    return (
      <Face icon="empty" title="Nothing to compare with">
        The service was not deployed successfully before.
      </Face>
    );
  }
  if (changes.length === 0) {
    return (
      <Face icon="empty" title="Nothing differs">
        {to === null ? 'A deployment would run the settings that are deployed.' : 'Both releases have the same settings.'}
      </Face>
    );
  }
  return (
    <>
      <p className="quiet-line">
        {plural(changes.length, 'setting')} from {fullTime(from.created_at)} by <bdi>{from.created_by}</bdi>
        {to === null ? ' to now' : ` to ${fullTime(to.created_at)} by ${to.created_by}`}
      </p>
      <ChangeTable changes={changes} />
    </>
  );
}
