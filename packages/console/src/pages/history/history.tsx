import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { AuditEvent } from '../../data/audit.ts';
import { Face, FailedFace, LoadingRows } from '../../parts/face.tsx';
import { DeploymentName } from '../../parts/history.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Older } from '../../parts/older.tsx';
import { Ago, Cut, CutAll } from '../../parts/page.tsx';
import { Segments } from '../../parts/segments.tsx';
import { StateOf } from '../../parts/state.tsx';
import { deploymentNumber, type Service, type ServiceStatus } from '../../words.ts';
import { versionOf, type HistoryEntry } from '../explanation.tsx';
import { useService } from '../service.tsx';
import { fieldChanges, titleOf } from './changes.ts';
import { useLine, type Moment, type Shown } from './line.ts';
import { RollBack } from './roll-back.tsx';

/** The deployments of a service and the changes of its configuration, on one line of time. */
export function HistoryPage(): ReactNode {
  const { service, status } = useService();
  if (service === undefined) {
    return (
      <div className="box">
        <LoadingRows />
      </div>
    );
  }
  return <Line service={service} status={status} />;
}

function Line({ service, status }: { readonly service: Service; readonly status: ServiceStatus | undefined }): ReactNode {
  const { only = 'all' } = useSearch({ strict: false });
  const navigate = useNavigate();
  const { moments, isRead, error, isForbidden, changesError, older } = useLine(service, only);
  if (error !== null) return <FailedFace error={error} />;
  return (
    <>
      <div className="toolbar">
        <Segments<Shown>
          label="Show"
          options={[
            ['all', 'All'],
            ['deployments', 'Deployments'],
            ['changes', 'Changes'],
          ]}
          value={only}
          onChange={(chosen) => void navigate({ to: '.', search: { only: chosen }, replace: true })}
        />
        <Link
          className="button"
          to="/environment/$environmentId/service/$serviceId/history/compare"
          params={{ environmentId: service.environment.id, serviceId: service.id }}
          search={{}}
        >
          What a deployment would change
        </Link>
        <Missing isForbidden={isForbidden} error={changesError} />
      </div>
      <div className="box">
        {!isRead && <LoadingRows />}
        {isRead && moments.length === 0 && (
          <Face icon="empty" title={only === 'changes' ? 'No changes yet' : 'Never deployed'}>
            {only === 'changes'
              ? 'Changes of settings, variables and domains stand here with what they changed.'
              : 'Deploy the service: each deployment then stands here, and its release can be deployed again.'}
          </Face>
        )}
        {isRead && moments.length > 0 && <Moments service={service} status={status} moments={moments} />}
        <Older what={only === 'all' ? 'entries' : only} {...older} />
      </div>
    </>
  );
}

/** Says what the line lacks, so that nobody takes an incomplete one for the whole. */
function Missing({ isForbidden, error }: { readonly isForbidden: boolean; readonly error: Error | null }): ReactNode {
  if (!isForbidden && error === null) return null;
  return (
    <span className="text-muted" role="status">
      {isForbidden
        ? 'Changes of the configuration are not shown: you may not read the audit log.'
        : 'Changes of the configuration could not be read; they are read again by themselves.'}
    </span>
  );
}

interface MomentsProps {
  readonly service: Service;
  readonly status: ServiceStatus | undefined;
  readonly moments: readonly Moment[];
}

function Moments({ service, status, moments }: MomentsProps): ReactNode {
  return (
    <table className="list">
      <thead>
        <tr>
          <th className="w-[30%] max-[1000px]:w-[26%]">What</th>
          <th className="w-[20%] max-[1000px]:w-[25%]">State, or what changed</th>
          <th>Version</th>
          <th className="w-[10%]">Time</th>
          <th className="w-[212px] max-[1000px]:w-[132px]">
            <span className="sr-only">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {moments.map((moment) =>
          'change' in moment ? (
            <ChangeRow key={moment.change.id} event={moment.change} />
          ) : (
            <DeploymentRow
              key={`${moment.deployment.identifier.execution_id} ${moment.at}`}
              service={service}
              status={status}
              entry={moment.deployment}
              isNewest={moment.isNewest}
            />
          ),
        )}
      </tbody>
    </table>
  );
}

interface DeploymentRowProps extends Omit<MomentsProps, 'moments'> {
  readonly entry: HistoryEntry;
  readonly isNewest: boolean;
}

function DeploymentRow({ service, status, entry, isNewest }: DeploymentRowProps): ReactNode {
  return (
    <tr>
      <DeploymentName
        environmentId={service.environment.id}
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
        <div className="under">
          <Cut text={'commit' in entry.details ? (entry.details.commit?.message ?? '') : ''} />
        </div>
      </td>
      <td className="wide-only nowrap">
        <Ago at={entry.auditing_data.created_at} />
      </td>
      <td className="do text-right">
        <span className="actions wide:max-[1000px]:flex-col wide:max-[1000px]:items-end">
          {entry.release_id !== null && (
            <Link
              className="button quiet small"
              to="/environment/$environmentId/service/$serviceId/history/compare"
              params={{ environmentId: service.environment.id, serviceId: service.id }}
              search={{ to: entry.release_id }}
            >
              Compare<span className="sr-only"> deployment {deploymentNumber(entry.identifier.execution_id ?? '')}</span>
            </Link>
          )}
          <RollBack service={service} status={status} entry={entry} isNewest={isNewest} />
        </span>
      </td>
    </tr>
  );
}

const shortest = 2;

function ChangeRow({ event }: { readonly event: AuditEvent }): ReactNode {
  // The ids of stages say nothing that the title does not say.
  const fields = fieldChanges(event).filter(({ field }) => field !== 'stage_id');
  return (
    <tr className="change">
      <td>
        <div className="name">
          <Icon name="pen" />
          <Cut text={titleOf(event)} />
        </div>
        <div className="under pl-[23px]">
          <CutAll
            texts={[`by ${event.triggered_by}`, ...(event.sub_target_type === null ? [] : [event.target_name])]}
            between=", "
          />
        </div>
      </td>
      <td className="narrow-only text-right text-muted">
        <Ago at={event.timestamp} />
      </td>
      <td className="fields" colSpan={2}>
        {fields.slice(0, shortest).map((one) => (
          <Field key={one.field} {...one} />
        ))}
        {fields.length > shortest && (
          <details>
            <summary>{fields.length - shortest} more</summary>
            {fields.slice(shortest).map((one) => (
              <Field key={one.field} {...one} />
            ))}
          </details>
        )}
      </td>
      <td className="wide-only nowrap">
        <Ago at={event.timestamp} />
      </td>
      <td className="wide-only" />
    </tr>
  );
}

function Field({ field, before, after }: ReturnType<typeof fieldChanges>[number]): ReactNode {
  return (
    <div className="cut mono" title={`${field}: ${before ?? ''} → ${after ?? ''}`}>
      <span className="text-muted">{field}</span> {before !== undefined && <s className="minus">{before}</s>}{' '}
      {after !== undefined && <span className="plus">{after}</span>}
    </div>
  );
}
