import { useMutation, useQueryClient, type QueryKey, type UseQueryResult } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { useRefusal } from '../../data/rights.ts';
import { send, type Params, type SendId } from '../../data/send.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import type { Entry } from '../../parts/entries.tsx';
import { EntryDialog } from '../../parts/entry-form.tsx';
import { ErrorNote } from '../../parts/face.tsx';
import { Records, type RecordColumn } from '../../parts/records.tsx';
import { editBody } from '../../parts/values.ts';
import type { Json } from '../../data/paths.ts';

export interface Item {
  readonly id: string;
  readonly name: string;
  readonly associated_services_count?: number;
  /** The version of the record, which an edit names. */
  readonly updated_at?: string;
}

/** How records of one kind are listed, created, edited and deleted. */
export interface RecordKind<One extends Item> {
  readonly title: string;
  /** As "git token". */
  readonly one: string;
  readonly about?: string;
  readonly empty: string;
  readonly query: UseQueryResult<readonly One[]>;
  readonly queryKey: QueryKey;
  readonly params: Params;
  readonly create: SendId;
  readonly edit?: SendId | ((record: One) => SendId);
  readonly remove: SendId | ((record: One) => SendId);
  /** Name of the parameter with the id of the record. */
  readonly idParameter: string;
  readonly columns: readonly RecordColumn<One>[];
  readonly entries: (values: Json, record: One | null) => readonly Entry[];
  /** The values that the form begins with. */
  readonly initial: (record: One | null) => Json;
  /** Sends a new record, where that is not the operation `create` with the values. */
  readonly begin?: (values: Json) => Promise<unknown>;
  readonly body?: (values: Json, record: One | null) => Json;
  /** Names the data that is lost with a record. */
  readonly lost: string;
  /** Receives the answer to a creation, as to show a secret once. */
  readonly onCreated?: (answer: unknown) => void;
  /** Further buttons of a row. */
  readonly more?: (record: One) => ReactNode;
  /** An operation that answers whether the session may change these records; default: `create`. */
  readonly rights?: SendId;
}

type Open<One> = { readonly kind: 'new' } | { readonly kind: 'edit' | 'delete'; readonly record: One };

/** A list of records with its forms. */
export function RecordPart<One extends Item>({ kind }: { readonly kind: RecordKind<One> }): ReactNode {
  const [open, setOpen] = useState<Open<One> | null>(null);
  const { params, edit, remove, body = (values: Json) => values } = kind;
  const refusal = useRefusal(kind.rights ?? kind.create, params);
  const queries = useQueryClient();
  const read = (): void => void queries.invalidateQueries({ queryKey: kind.queryKey });
  const at = (record: One): Params => ({ ...params, [kind.idParameter]: record.id });
  const idOf = (of: SendId | ((record: One) => SendId), record: One): SendId => (typeof of === 'function' ? of(record) : of);
  const removal = useMutation({ mutationFn: (record: One) => send(idOf(remove, record), at(record)), onSettled: read });
  const create = async (values: Json): Promise<void> => {
    const answer = await (kind.begin?.(values) ?? send(kind.create, params, body(values, null)));
    read();
    kind.onCreated?.(answer);
  };
  const save = async (values: Json, record: One): Promise<void> => {
    if (edit === undefined) return;
    const request = editBody(body(values, record), values, kind.initial(record));
    // Also after a refusal: somebody else may have changed the record.
    await send(idOf(edit, record), at(record), request, record.updated_at).finally(read);
  };
  return (
    <>
      <ErrorNote error={removal.error} />
      <Records
        title={kind.title}
        query={kind.query}
        columns={kind.columns}
        add={{ words: `New ${kind.one}`, refusal, onClick: () => setOpen({ kind: 'new' }) }}
        empty={{ title: `No ${kind.one} yet`, words: kind.empty }}
        actions={(record) => (
          <>
            {kind.more?.(record)}
            {edit !== undefined && (
              <Button isSmall look="quiet" refusal={refusal} onClick={() => setOpen({ kind: 'edit', record })}>
                Edit<span className="sr-only"> {record.name}</span>
              </Button>
            )}
            <Button
              isSmall
              look="quiet"
              refusal={refusal ?? inUse(record)}
              onClick={() => {
                removal.reset();
                setOpen({ kind: 'delete', record });
              }}
            >
              Delete<span className="sr-only"> {record.name}</span>
            </Button>
          </>
        )}
      />
      <RecordDialogs kind={kind} open={open} close={() => setOpen(null)} create={create} save={save} remove={removal.mutate} />
    </>
  );
}

interface DialogsProps<One extends Item> {
  readonly kind: RecordKind<One>;
  readonly open: Open<One> | null;
  readonly close: () => void;
  readonly create: (values: Json) => Promise<void>;
  readonly save: (values: Json, record: One) => Promise<void>;
  readonly remove: (record: One) => void;
}

function RecordDialogs<One extends Item>({ kind, open, close, create, save, remove }: DialogsProps<One>): ReactNode {
  return (
    <>
      {open?.kind === 'new' && (
        <EntryDialog
          title={`New ${kind.one}`}
          about={kind.about}
          entries={(values) => kind.entries(values, null)}
          initial={kind.initial(null)}
          verb={`Create ${kind.one}`}
          onSubmit={create}
          onClose={close}
        />
      )}
      {open?.kind === 'edit' && (
        <EntryDialog
          title={`Edit ${open.record.name}`}
          entries={(values) => kind.entries(values, open.record)}
          initial={kind.initial(open.record)}
          verb="Save"
          onSubmit={(values) => save(values, open.record)}
          onClose={close}
        />
      )}
      {open?.kind === 'delete' && (
        <Confirm
          title={`Delete ${open.record.name}?`}
          verb="Delete"
          isDangerous
          onConfirm={() => remove(open.record)}
          onClose={close}
        >
          <p>{kind.lost}</p>
        </Confirm>
      )}
    </>
  );
}

function inUse({ associated_services_count: count = 0 }: Item): string | null {
  return count === 0 ? null : `Used by ${count === 1 ? 'a service' : `${count} services`}.`;
}
