import type { CallAnswer } from '@davit/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useContext, useMemo, useState, type ReactNode } from 'react';
import { actOnService } from '../../data/actions.ts';
import { environmentOf } from '../../data/queries.ts';
import { editRefusalIn, refusalIn } from '../../data/rights.ts';
import { TreeContext } from '../../data/tree.ts';
import { hasVariables, saveEdit, variablesOf } from '../../data/variables.ts';
import { Button } from '../../parts/button.tsx';
import { ErrorNote, Face, FailedFace, LoadingRows } from '../../parts/face.tsx';
import { wordsOfError } from '../../parts/form-field.tsx';
import { Icon } from '../../parts/icon.tsx';
import { LeaveGuard } from '../../parts/leave-guard.tsx';
import { Saver } from '../../parts/saver.tsx';
import { Segments } from '../../parts/segments.tsx';
import { plural, type Service } from '../../words.ts';
import { useService } from '../service.tsx';
import { AddVariable } from './add.tsx';
import { AsText } from './as-text.tsx';
import {
  changesOf,
  conflictOf,
  idOf,
  slotsOf,
  withEdit,
  without,
  withoutSaved,
  type Draft,
  type Edit,
  type Level,
  type Slot,
  type Variable,
} from './draft.ts';
import { Review } from './review.tsx';
import { VariableTable } from './table.tsx';

/** All variables of a service over all scopes: where each comes from, what it overrides, and edits of them. */
export function VariablesPage(): ReactNode {
  const { service } = useService();
  if (service === undefined) {
    return (
      <div className="box">
        <LoadingRows />
      </div>
    );
  }
  if (!hasVariables(service)) {
    return (
      <div className="box">
        <Face icon="key" title="A database has no variables of its own">
          Its address and credentials are built-in variables of the services in its environment.
        </Face>
      </div>
    );
  }
  // The drafts of two services have nothing in common.
  return <Editor key={service.id} service={service} />;
}

type Asked = 'add' | 'paste' | 'all' | 'review';

function Editor({ service }: { readonly service: Service }): ReactNode {
  const environment = useQuery(environmentOf(service.environment.id));
  const variables = useQuery(variablesOf(service));
  const mayNot = useQuery(editRefusalIn(service.environment.id)).data ?? null;
  const [draft, setDraft] = useState<Draft>(new Map());
  const [asked, ask] = useState<Asked | null>(null);
  const slots = useMemo(() => slotsOf(variables.data ?? []), [variables.data]);
  const byKey = useMemo(() => new Map(slots.map((slot) => [slot.key, slot])), [slots]);
  const save = useSaving({ service, projectId: environment.data?.project.id ?? '', byKey, draft, setDraft });
  const names = useNames(service.name, environment.data);
  const onEdit = useCallback(
    (edit: Edit, former?: Edit): void => setDraft((now) => withEdit(former === undefined ? now : without(now, former), edit)),
    [],
  );
  const onUndo = useCallback((edit: Edit): void => setDraft((now) => without(now, edit)), []);
  const error = [variables, environment].find((query) => query.data === undefined && query.error !== null)?.error ?? null;
  if (error !== null) return <FailedFace error={error} onRetry={() => void variables.refetch()} />;
  const changes = changesOf(draft);
  const conflicts = changes.filter((edit) => conflictOf(edit, byKey.get(edit.key)) !== null).length;
  const review = async (): Promise<void> => {
    // The variables are read again, so that nobody reviews a difference from an old value.
    const { data = [] } = await variables.refetch();
    if (!isInConflict(changes, data)) ask('review');
  };
  const busy = save.isPending ? 'The changes are being saved.' : null;
  return (
    <>
      <Toolbar refusal={mayNot} onAsk={ask} />
      <div className="box">
        {variables.data === undefined ? (
          <LoadingRows rows={6} />
        ) : (
          <VariableTable
            slots={slots}
            byKey={byKey}
            draft={draft}
            names={names}
            refusal={mayNot ?? busy}
            onEdit={onEdit}
            onUndo={onUndo}
          />
        )}
      </div>
      <ErrorNote error={save.error} />
      {changes.length > 0 && (
        <Saver
          title={`${plural(changes.length, 'change')}.`}
          about={
            conflicts > 0
              ? `${plural(conflicts, 'record was', 'records were')} changed by somebody else meanwhile: decide first.`
              : 'Nothing is saved yet.'
          }
          verb={`Review ${plural(changes.length, 'change')}`}
          refusal={mayNot ?? busy ?? (conflicts > 0 ? 'Decide first which of the changes counts.' : null)}
          onSave={() => void review()}
          onDiscard={() => setDraft(new Map())}
        />
      )}
      {asked === 'add' && <AddVariable slots={byKey} names={names} onAdd={onEdit} onClose={() => ask(null)} />}
      {(asked === 'paste' || asked === 'all') && (
        <AsText mode={asked} slots={slots} draft={draft} names={names} onDraft={setDraft} onClose={() => ask(null)} />
      )}
      {asked === 'review' && conflicts === 0 && changes.length > 0 && (
        <ReviewOf
          service={service}
          changes={changes}
          byKey={byKey}
          names={names}
          onSave={save.mutate}
          onClose={() => ask(null)}
        />
      )}
      <LeaveGuard count={changes.length} what={plural(changes.length, 'change')} />
    </>
  );
}

/** Returns the names of the records to which the variables can belong. */
function useNames(serviceName: string, environment: CallAnswer<'getEnvironment'> | undefined): Readonly<Record<Level, string>> {
  const { projects } = useContext(TreeContext);
  const environmentName = environment?.name ?? '';
  const projectName = projects.find(({ id }) => id === environment?.project.id)?.name ?? '';
  return useMemo(
    () => ({ SERVICE: serviceName, ENVIRONMENT: environmentName, PROJECT: projectName }),
    [serviceName, environmentName, projectName],
  );
}

function isInConflict(changes: readonly Edit[], variables: readonly Variable[]): boolean {
  const byKey = new Map(slotsOf(variables).map((slot) => [slot.key, slot]));
  return changes.some((edit) => conflictOf(edit, byKey.get(edit.key)) !== null);
}

interface SavingInput {
  readonly service: Service;
  readonly projectId: string;
  readonly byKey: ReadonlyMap<string, Slot>;
  readonly draft: Draft;
  readonly setDraft: (change: (now: Draft) => Draft) => void;
}

/** Saves the edits one after the other. Those that are saved leave the draft, those that are refused say why. */
function useSaving({ service, projectId, byKey, draft, setDraft }: SavingInput) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (doesDeploy: boolean): Promise<void> => {
      let isRefused = false;
      for (const edit of changesOf(draft)) {
        try {
          // One after the other: an override needs what it overrides, and a reference its target.
          // oxlint-disable-next-line no-await-in-loop
          await saveEdit({ service, projectId }, edit, byKey.get(edit.key));
          setDraft((now) => withoutSaved(now, edit));
        } catch (error) {
          isRefused = true;
          setDraft((now) => new Map(now).set(idOf(edit), { ...(now.get(idOf(edit)) ?? edit), error: wordsOfError(error) }));
        }
      }
      await queries.invalidateQueries({ queryKey: ['variables'] });
      for (const key of ['referenceDigest', 'references']) void queries.invalidateQueries({ queryKey: [key] });
      void queries.invalidateQueries({ queryKey: ['details', service.environment.id] });
      void queries.invalidateQueries({ queryKey: ['overview'] });
      if (doesDeploy && !isRefused) await actOnService('deploy', service);
    },
  });
}

interface ReviewOfProps {
  readonly service: Service;
  readonly changes: ReturnType<typeof changesOf>;
  readonly byKey: ReadonlyMap<string, Slot>;
  readonly names: Readonly<Record<Level, string>>;
  readonly onSave: (doesDeploy: boolean) => void;
  readonly onClose: () => void;
}

function ReviewOf({ service, changes, byKey, names, onSave, onClose }: ReviewOfProps): ReactNode {
  const mayNotDeploy = useQuery(refusalIn(service.environment.id)).data ?? null;
  return (
    <Review
      changes={changes}
      slots={byKey}
      names={names}
      deployRefusal={mayNotDeploy}
      onSave={(doesDeploy) => {
        onSave(doesDeploy);
        onClose();
      }}
      onClose={onClose}
    />
  );
}

interface ToolbarProps {
  readonly refusal: string | null;
  readonly onAsk: (asked: Asked) => void;
}

function Toolbar({ refusal, onAsk }: ToolbarProps): ReactNode {
  const { find = '', by = 'process' } = useSearch({ strict: false });
  const navigate = useNavigate();
  const search = (change: { find?: string; by?: 'process' | 'scope' }): void => {
    void navigate({ to: '.', search: { find, by, ...change }, replace: true });
  };
  return (
    <div className="toolbar">
      <div className="field flex-1 basis-64">
        <Icon name="search" />
        <input
          type="search"
          aria-label="Filter by key, value or origin"
          placeholder="Filter by key, value or origin"
          value={find}
          onChange={({ target }) => search({ find: target.value })}
        />
      </div>
      <Segments
        label="Order"
        options={[
          ['process', 'What the process gets'],
          ['scope', 'By scope'],
        ]}
        value={by}
        onChange={(chosen) => search({ by: chosen })}
      />
      <Button refusal={refusal} onClick={() => onAsk('paste')}>
        Paste .env
      </Button>
      <Button refusal={refusal} onClick={() => onAsk('all')}>
        Edit as text
      </Button>
      <Button refusal={refusal} onClick={() => onAsk('add')}>
        Add
      </Button>
    </div>
  );
}
