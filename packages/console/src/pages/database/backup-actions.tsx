import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { api } from '../../api.ts';
import type { Backup } from '../../data/database.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { ErrorNote } from '../../parts/face.tsx';
import { FormField, messageAt } from '../../parts/form-field.tsx';
import { TextInput } from '../../parts/text-input.tsx';
import { TypedConfirm } from '../../parts/typed-confirm.tsx';
import { fullTime } from '../../time.ts';
import type { Service } from '../../words.ts';

interface BackupActionsProps {
  readonly service: Service;
  readonly backup: Backup;
  readonly refusal: string | null;
  readonly isStopped: string | null;
}

/** Restores or deletes a backup. */
export function BackupActions({ service, backup, refusal, isStopped }: BackupActionsProps): ReactNode {
  const [asked, ask] = useState<'restore' | 'delete' | null>(null);
  const [hasSafety, setSafety] = useState(true);
  const queries = useQueryClient();
  const databaseId = service.id;
  const act = useMutation({
    mutationFn: async (wanted: 'restore' | 'delete'): Promise<void> => {
      if (wanted === 'delete') await api().call('removeDatabaseBackup', { params: { databaseId, backupId: backup.id } });
      else {
        const body = { backup_id: backup.id, safety_backup: hasSafety };
        await api().call('restoreDatabase', { params: { databaseId }, body });
      }
    },
    onSettled: () =>
      Promise.all(['backups', 'restores'].map((key) => queries.invalidateQueries({ queryKey: [key, service.environment.id] }))),
  });
  const isBad = backup.backup_state === 'GOOD' ? null : 'Only a backup that was proven can be restored.';
  return (
    <>
      <Button isSmall icon="back" refusal={refusal ?? isBad ?? isStopped} onClick={() => ask('restore')}>
        Restore
      </Button>
      <Button look="quiet" isSmall refusal={refusal} onClick={() => ask('delete')}>
        Delete<span className="sr-only"> {backup.name}</span>
      </Button>
      <ErrorNote error={act.error} />
      {asked === 'restore' && (
        <TypedConfirm
          title={`Restore ${backup.name} into ${service.name}?`}
          name={service.name}
          verb="Restore"
          onConfirm={() => act.mutate('restore')}
          onClose={() => ask(null)}
        >
          <p>
            Everything in {service.name} is replaced by the backup of {fullTime(backup.created_at)}. Data that was written later
            is lost. Do not deploy or stop the database meanwhile.
          </p>
          <label className="check">
            <input type="checkbox" checked={hasSafety} onChange={({ target }) => setSafety(target.checked)} />
            Make and prove a safety backup first. Without it, what is lost cannot be brought back.
          </label>
        </TypedConfirm>
      )}
      {asked === 'delete' && (
        <Confirm
          title={`Delete ${backup.name}?`}
          verb="Delete"
          isDangerous
          onConfirm={() => act.mutate('delete')}
          onClose={() => ask(null)}
        >
          <p>The backup of {fullTime(backup.created_at)} is deleted with its file. It cannot be brought back.</p>
        </Confirm>
      )}
    </>
  );
}

/** Asks for the name of a backup and makes it. */
export function MakeBackup({ service, onClose }: { readonly service: Service; readonly onClose: () => void }): ReactNode {
  const [name, setName] = useState('by hand');
  const [message, setMessage] = useState('');
  const queries = useQueryClient();
  const make = useMutation({
    mutationFn: () => api().call('addBackupDatabase', { params: { databaseId: service.id }, body: { name, message } }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['backups', service.environment.id] });
      onClose();
    },
  });
  const fields = [messageAt(make.error, 'name'), messageAt(make.error, 'message')] as const;
  return (
    <FormDialog label="Make a backup" onClose={onClose}>
      <form
        className="in form"
        onSubmit={(event) => {
          event.preventDefault();
          if (!make.isPending) make.mutate();
        }}
      >
        <h2>Make a backup of {service.name}</h2>
        <FormField label="Name" error={fields[0]}>
          {(control) => <TextInput {...control} value={name} onText={setName} />}
        </FormField>
        <FormField label="Why" help="For whoever reads the list later." error={fields[1]}>
          {(control) => <TextInput {...control} value={message} onText={setMessage} />}
        </FormField>
        <p className="text-muted">It is kept until it is deleted. It counts as good only after a test restore.</p>
        {fields[0] === null && fields[1] === null && <ErrorNote error={make.error} />}
        <div className="do">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" isSubmit refusal={make.isPending ? 'The server is asked.' : null}>
            Make a backup
          </Button>
        </div>
      </form>
    </FormDialog>
  );
}
