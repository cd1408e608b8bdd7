import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { backupsOf, restoresOf, type Backup, type Restore } from '../../data/database.ts';
import { editRefusalIn } from '../../data/rights.ts';
import { Button } from '../../parts/button.tsx';
import { Face, FailedFace, LoadingRows } from '../../parts/face.tsx';
import { Ago, Box, Cut } from '../../parts/page.tsx';
import { State } from '../../parts/state.tsx';
import { Verdict } from '../../parts/verdict.tsx';
import { sentence, type Service, type ServiceStatus, type Shape } from '../../words.ts';
import { scaled } from '../metrics/series.ts';
import { useService } from '../service.tsx';
import { BackupActions, MakeBackup } from './backup-actions.tsx';

/** The backups of a database: when the last one was proven, and what can be restored. */
export function BackupsPage(): ReactNode {
  const { service, status } = useService();
  if (service === undefined) {
    return (
      <div className="box">
        <LoadingRows />
      </div>
    );
  }
  return <Backups service={service} status={status} />;
}

const shapes: Readonly<Record<Backup['backup_state'] | Restore['restore_state'], Shape>> = {
  QUEUED: 'wait',
  RUNNING: 'go',
  GOOD: 'ok',
  SUCCEEDED: 'ok',
  FAILED: 'bad',
};

interface BackupsProps {
  readonly service: Service;
  readonly status: ServiceStatus | undefined;
}

function Backups({ service, status }: BackupsProps): ReactNode {
  const backups = useQuery(backupsOf(service));
  const mayNot = useQuery(editRefusalIn(service.environment.id)).data ?? null;
  const [isAsked, ask] = useState(false);
  if (backups.data === undefined && backups.error !== null) {
    return <FailedFace error={backups.error} onRetry={() => void backups.refetch()} />;
  }
  const isStopped = status?.running_instances === 0 ? 'The database does not run.' : null;
  return (
    <>
      <div className="toolbar">
        <span className="flex-1 basis-64">{backups.data !== undefined && <LastProof backups={backups.data} />}</span>
        <Button refusal={mayNot ?? isStopped} onClick={() => ask(true)}>
          Make a backup
        </Button>
      </div>
      <div className="box">
        {backups.data === undefined && <LoadingRows />}
        {backups.data?.length === 0 && (
          <Face icon="DATABASE" title="No backups yet">
            A backup counts only after a restore of it was tested, so that making one takes as long as both.
          </Face>
        )}
        {backups.data !== undefined && backups.data.length > 0 && (
          <BackupTable service={service} backups={backups.data} refusal={mayNot} isStopped={isStopped} />
        )}
      </div>
      <Restores service={service} backups={backups.data ?? []} />
      {isAsked && <MakeBackup service={service} onClose={() => ask(false)} />}
    </>
  );
}

/** The age of the newest proof is what says whether the data is safe. */
function LastProof({ backups }: { readonly backups: readonly Backup[] }): ReactNode {
  const proofs = backups.flatMap(({ proven_at: at }) => (at === null ? [] : [at])).toSorted();
  const newest = proofs.at(-1);
  if (newest === undefined) return <State shape="warn">No backup was proven yet</State>;
  return (
    <State shape="ok">
      Last proof <Ago at={newest} />
    </State>
  );
}

interface BackupTableProps {
  readonly service: Service;
  readonly backups: readonly Backup[];
  readonly refusal: string | null;
  readonly isStopped: string | null;
}

function BackupTable({ service, backups, refusal, isStopped }: BackupTableProps): ReactNode {
  return (
    <table className="list">
      <thead>
        <tr>
          <th className="w-[32%]">Backup</th>
          <th className="w-[20%]">State</th>
          <th>Size</th>
          <th className="w-[12%]">Time</th>
          <th className="w-[196px]">
            <span className="sr-only">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {backups.map((backup) => (
          <BackupRow key={backup.id} service={service} backup={backup} refusal={refusal} isStopped={isStopped} />
        ))}
      </tbody>
    </table>
  );
}

function BackupRow({
  service,
  backup,
  refusal,
  isStopped,
}: Omit<BackupTableProps, 'backups'> & { readonly backup: Backup }): ReactNode {
  const { backup_state: state, failure, warning } = backup;
  return (
    <>
      <tr className={failure === null && warning === null ? '' : 'has-why'}>
        <td>
          <div className="name">
            <Cut text={backup.name} />
          </div>
          <div className="under">
            <Cut text={`${sentence(backup.kind)}${backup.message === '' ? '' : `, ${backup.message}`}`} />
          </div>
        </td>
        <td>
          <State shape={shapes[state]}>{sentence(state)}</State>
          {backup.proven_at !== null && (
            <div className="under pl-[19px]">
              proven <Ago at={backup.proven_at} />
            </div>
          )}
          {state === 'RUNNING' && <div className="under pl-[19px]">{backup.stored_at === null ? 'is made' : 'is proven'}</div>}
        </td>
        <td className="wide-only">
          {backup.size_bytes !== null && scaled(backup.size_bytes, ['B', 'KiB', 'MiB', 'GiB'])}
          {backup.server_version !== null && <div className="under">version {backup.server_version}</div>}
        </td>
        <td className="wide-only nowrap">
          <Ago at={backup.created_at} />
        </td>
        <td className="do text-right">
          <BackupActions service={service} backup={backup} refusal={refusal} isStopped={isStopped} />
        </td>
      </tr>
      {(failure !== null || warning !== null) && (
        <tr className="why">
          <td colSpan={5}>
            {failure === null ? (
              <div className="why-line warn">
                <b>{warning}</b>
              </div>
            ) : (
              <Verdict failure={failure} />
            )}
          </td>
        </tr>
      )}
    </>
  );
}

function Restores({ service, backups }: { readonly service: Service; readonly backups: readonly Backup[] }): ReactNode {
  const restores = useQuery(restoresOf(service));
  if (restores.data === undefined || restores.data.length === 0) return null;
  const names = new Map(backups.map(({ id, name }) => [id, name]));
  return (
    <Box title="Restores">
      {restores.data.map((restore) => (
        <div key={restore.id} className="item">
          <span />
          <State shape={shapes[restore.restore_state]}>{sentence(restore.restore_state)}</State>
          <span className="age">
            <Ago at={restore.created_at} />
          </span>
          <span className="under">
            From {names.get(restore.backup_id) ?? 'a backup that is gone'}
            {restore.safety_backup_id !== null && '; what was there before is in a safety backup'}
            {restore.failure !== null && `. ${restore.failure.message} ${restore.failure.hint}`}
          </span>
        </div>
      ))}
    </Box>
  );
}
