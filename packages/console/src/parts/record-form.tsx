import { useState, type ReactNode } from 'react';
import { isFields, type Json } from '../data/paths.ts';
import { Conflict } from './conflict.tsx';
import type { Entry } from './entries.tsx';
import { EntryForm } from './entry-form.tsx';
import type { Guide } from './form-guide.tsx';
import { editedFrom, isOutdated, type Base } from './record-base.ts';

interface RecordFormProps {
  readonly entries: readonly Entry[];
  /** The values of the record as they are stored, and their version. */
  readonly stored: Base;
  readonly refusal: string | null;
  readonly isPlain?: boolean;
  /** Describes what a change does, in a second column. */
  readonly guide?: (values: Json) => Guide;
  /** Saves the values, if the record still has the version. */
  readonly onSave: (values: Json, version: string | undefined) => Promise<unknown>;
}

/** A form of one record. What was entered stays when somebody else changes the record, until the reader decides. */
export function RecordForm({ entries, stored, refusal, isPlain, guide, onSave }: RecordFormProps): ReactNode {
  const [base, setBase] = useState(stored);
  const [values, setValues] = useState<Json>(stored.values);
  const [count, setCount] = useState(0);
  const take = (): void => {
    setBase(stored);
    setValues(stored.values);
    setCount(count + 1);
  };
  const isEdited = editedFrom(base, values);
  // The form follows the record while nothing is entered.
  if (base.version !== stored.version && !isEdited) take();
  const isConflict = isOutdated(base, stored, values);
  return (
    <>
      {isConflict && (
        <Conflict did="changed this" onKeep={() => setBase({ version: stored.version, values: base.values })} onTake={take} />
      )}
      <EntryForm
        key={count}
        entries={() => entries}
        initial={base.values}
        onValues={setValues}
        verb="Save"
        isPlain={isPlain === true}
        {...(guide !== undefined && { guide })}
        refusal={refusal ?? (isConflict ? 'Decide first what counts.' : null)}
        onSubmit={async (entered) => {
          await onSave(entered, base.version);
          if (isFields(entered)) setBase({ version: base.version, values: entered });
        }}
      />
    </>
  );
}
