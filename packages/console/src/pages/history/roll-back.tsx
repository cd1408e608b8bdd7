import { useMutation, useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { canRollBack, planRollBack, rollBack, type RollBackPlan } from '../../data/actions.ts';
import { refusalIn } from '../../data/rights.ts';
import { comparisonOf, type ReleaseChange } from '../../data/releases.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { ErrorNote } from '../../parts/face.tsx';
import type { Service, ServiceStatus } from '../../words.ts';
import { versionOf, type HistoryEntry } from '../explanation.tsx';

interface RollBackProps {
  readonly service: Service;
  readonly status: ServiceStatus | undefined;
  readonly entry: HistoryEntry;
  readonly isNewest: boolean;
}

/** Deploys the release of an earlier deployment again, after it has shown what that changes. */
export function RollBack({ service, status, entry, isNewest }: RollBackProps): ReactNode {
  const [isAsked, ask] = useState(false);
  const mayNot = useQuery(refusalIn(service.environment.id)).data ?? null;
  const releaseId = entry.release_id;
  const action = useMutation({ mutationFn: (id: string) => rollBack(service, id) });
  if (!canRollBack(service.service_type) || releaseId === null || entry.status_details.action !== 'DEPLOY') return null;
  const isCurrent = isNewest && entry.status_details.status === 'SUCCESS' && releaseId === status?.release_id;
  const failed = entry.status_details.status === 'SUCCESS' ? null : 'This release was never deployed successfully.';
  return (
    <>
      <Button
        icon="back"
        isSmall
        refusal={mayNot ?? (isCurrent ? 'This release is deployed now.' : failed)}
        onClick={() => ask(true)}
      >
        Roll back
      </Button>
      <ErrorNote error={action.error} />
      {isAsked && (
        <Confirm
          title={`Roll ${service.name} back to ${versionOf(entry)}?`}
          verb="Roll back"
          onConfirm={() => action.mutate(releaseId)}
          onClose={() => ask(false)}
        >
          <Plan service={service} releaseId={releaseId} deployedId={status?.release_id ?? undefined} />
          <p>
            The current release stays in the list, so that you can return to it. Data in volumes and databases is not rolled back.
          </p>
        </Confirm>
      )}
    </>
  );
}

/** Shows what the rollback changes in the service as it is deployed now. */
interface PlanProps {
  readonly service: Service;
  readonly releaseId: string;
  /** The release that is deployed now. */
  readonly deployedId: string | undefined;
}

function Plan({ service, releaseId, deployedId }: PlanProps): ReactNode {
  const comparison = useQuery({
    ...comparisonOf(service, { from: deployedId, to: releaseId }),
    enabled: deployedId !== undefined,
  });
  const plan = useQuery({
    queryKey: ['rollBackPlan', service.environment.id, service.id, releaseId],
    queryFn: () => planRollBack(service, releaseId),
    staleTime: 0,
  });
  const error = plan.error ?? comparison.error;
  if (error !== null) return <ErrorNote error={error} />;
  if (plan.data === undefined || (deployedId !== undefined && comparison.data === undefined)) {
    return <p role="status">What it changes is being read.</p>;
  }
  if (plan.data === null) return null;
  const changes = comparison.data?.changes ?? [];
  return (
    <>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a box that scrolls must be reached by keyboard */}
      <div className="diff" tabIndex={0}>
        {changes.length === 0
          ? 'Nothing differs from what is deployed now.'
          : changes.map((one) => <Change key={one.path} {...one} />)}
      </div>
      <p>
        {interruption(plan.data)} {plan.data.notes.join(' ')}
      </p>
    </>
  );
}

function Change({ path, kind, before, after, secret }: ReleaseChange): ReactNode {
  return (
    <div>
      <span className="text-muted">{path}</span>{' '}
      {secret ? (
        'another secret'
      ) : (
        <>
          {kind !== 'ADDED' && <span className="minus">{before}</span>}
          {kind === 'CHANGED' && ' → '}
          {kind !== 'REMOVED' && <span className="plus">{after}</span>}
        </>
      )}
      {kind === 'REMOVED' && ' is removed'}
    </div>
  );
}

function interruption({ expected_downtime: isDown, instances: { from, to } }: RollBackPlan): string {
  const size = from === to ? '' : ` It then has ${to} instances instead of ${from}.`;
  return `${isDown ? 'The service is interrupted while it restarts.' : 'No request is lost meanwhile.'}${size}`;
}
