import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { withValueAt, type Json } from '../data/paths.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Entries, wordsBeside, type Entry } from './entries.tsx';

export interface FormState {
  readonly values: Json;
  readonly set: (path: string, value: Json) => void;
  readonly setWrong: (error: Error | null) => void;
}

interface EntryFormProps {
  /** The fields; they may depend on what was entered. */
  readonly entries: (values: Json) => readonly Entry[];
  readonly initial?: Json;
  /** Is called with the values after each edit. */
  readonly onValues?: (values: Json) => void;
  readonly verb: string;
  readonly refusal?: string | null;
  readonly isDangerous?: boolean;
  /** Whether something else on the page is its main button. */
  readonly isPlain?: boolean;
  /** Sends the values. Its error is shown at the fields that it names. */
  readonly onSubmit: (values: Json) => Promise<unknown>;
  /** Parts at the end of sections, by their headings. They may change the values and say what is wrong. */
  readonly after?: Readonly<Record<string, (form: FormState) => ReactNode>>;
  readonly onCancel?: () => void;
}

/** A form of entries with one button. After a refusal the focus is at the first field that is wrong. */
export function EntryForm(props: EntryFormProps): ReactNode {
  const { entries, initial = {}, onValues, verb, refusal = null, isDangerous, isPlain, onSubmit, after = {}, onCancel } = props;
  const [values, setValues] = useState<Json>(initial);
  const [wrong, setWrong] = useState<Error | null>(null);
  const form = useRef<HTMLFormElement>(null);
  const action = useMutation({ mutationFn: () => onSubmit(values) });
  const set = (path: string, value: Json): void => {
    const next = withValueAt(values, path, value);
    setValues(next);
    onValues?.(next);
  };
  const fields = entries(values);
  const error = action.error ?? wrong;
  const beside = wordsBeside(error, fields);
  useEffect(() => {
    const field = form.current?.querySelector('[aria-invalid="true"]');
    if (error !== null && field instanceof HTMLElement) field.focus();
  }, [error]);
  const state: FormState = {
    values,
    set,
    setWrong: (found) => {
      action.reset();
      setWrong(found);
    },
  };
  const parts = Object.fromEntries(Object.entries(after).map(([section, part]) => [section, part(state)]));
  return (
    <form
      ref={form}
      noValidate
      className="form"
      onSubmit={(event) => {
        event.preventDefault();
        if (action.isPending || refusal !== null) return;
        setWrong(null);
        action.mutate();
      }}
    >
      <Entries entries={fields} values={values} error={error} onChange={set} after={parts} />
      {beside !== null && (
        <div className="wrong" role="alert">
          {beside}
        </div>
      )}
      <div className="do">
        {onCancel !== undefined && <Button onClick={onCancel}>Cancel</Button>}
        <Button
          look={isDangerous === true ? 'danger' : isPlain === true ? 'plain' : 'main'}
          isSubmit
          refusal={refusal ?? (action.isPending ? 'The server is asked.' : null)}
        >
          {verb}
        </Button>
      </div>
    </form>
  );
}

interface EntryDialogProps extends EntryFormProps {
  readonly title: string;
  readonly about?: ReactNode;
  readonly isWide?: boolean;
  readonly onClose: () => void;
}

/** A form in a dialog. It closes when the server has accepted the values. */
export function EntryDialog({ title, about, isWide, onClose, onSubmit, ...form }: EntryDialogProps): ReactNode {
  return (
    <Dialog label={title} onClose={onClose} {...(isWide === true && { className: 'wide' })}>
      <div className="in form">
        <h2>{title}</h2>
        {about !== undefined && <p className="text-muted">{about}</p>}
        <EntryForm {...form} onCancel={onClose} onSubmit={(values) => onSubmit(values).then(onClose)} />
      </div>
    </Dialog>
  );
}
