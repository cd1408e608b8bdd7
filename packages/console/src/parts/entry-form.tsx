import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { isSame, withValueAt, type Json } from '../data/paths.ts';
import { Button } from './button.tsx';
import { Entries, wordsBeside, type Entry } from './entries.tsx';
import { FormDialog } from './form-dialog.tsx';
import { FormGuide, type Guide } from './form-guide.tsx';
import { LeaveGuard } from './leave-guard.tsx';
import { Refusal } from './refusal.tsx';

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
  /** Closes the dialog around the form. A form without it stands on a page, and asks before edits are left. */
  readonly onCancel?: () => void;
  /** Describes what comes of the values, in a second column. */
  readonly guide?: (values: Json) => Guide;
}

/**
 * A form of entries with one button, and what comes of them in a second column. After a refusal the focus is at the
 * first field that is wrong.
 */
export function EntryForm(props: EntryFormProps): ReactNode {
  const { entries, initial = {}, onValues, refusal = null, onSubmit, after = {}, onCancel, guide } = props;
  const [values, setValues] = useState<Json>(initial);
  const [saved, setSaved] = useState<Json>(initial);
  // The page that follows a success is opened before the mutation is known to have ended.
  const [isSent, setSent] = useState(false);
  const [wrong, setWrong] = useState<Error | null>(null);
  const form = useRef<HTMLFormElement>(null);
  const action = useMutation({
    mutationFn: (sent: Json) => onSubmit(sent),
    onSuccess: (_answer, sent) => setSaved(sent),
    onError: () => setSent(false),
  });
  const set = (path: string, value: Json): void => {
    const next = withValueAt(values, path, value);
    setValues(next);
    setSent(false);
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
  const isEdited = onCancel === undefined && !isSent && !isSame(saved, values);
  const content = (
    <form
      ref={form}
      noValidate
      className="form"
      onSubmit={(event) => {
        event.preventDefault();
        if (action.isPending || refusal !== null) return;
        setWrong(null);
        setSent(true);
        action.mutate(values);
      }}
    >
      <Entries entries={fields} values={values} error={error} onChange={set} after={parts} />
      {beside !== null && (
        <div className="wrong" role="alert">
          {beside}
        </div>
      )}
      <Buttons {...props} isPending={action.isPending} />
    </form>
  );
  return (
    <>
      {guide === undefined ? (
        content
      ) : (
        <div className="with-guide">
          {content}
          <FormGuide {...guide(values)} />
        </div>
      )}
      <LeaveGuard count={isEdited ? 1 : 0} what="What you entered" />
    </>
  );
}

type ButtonsProps = Pick<EntryFormProps, 'verb' | 'refusal' | 'isDangerous' | 'isPlain' | 'onCancel'> & {
  readonly isPending: boolean;
};

function Buttons({ verb, refusal = null, isDangerous, isPlain, onCancel, isPending }: ButtonsProps): ReactNode {
  return (
    <div className="do">
      {onCancel !== undefined && <Button onClick={onCancel}>Cancel</Button>}
      <Button
        look={isDangerous === true ? 'danger' : isPlain === true ? 'plain' : 'main'}
        isSubmit
        refusal={refusal ?? (isPending ? 'The server is asked.' : null)}
      >
        {verb}
      </Button>
      <Refusal reason={refusal} />
    </div>
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
  const [hasEdits, setEdits] = useState(false);
  const onValues = (values: Json): void => {
    setEdits(!isSame(form.initial ?? {}, values));
    form.onValues?.(values);
  };
  return (
    <FormDialog label={title} hasEdits={hasEdits} onClose={onClose} {...(isWide === true && { className: 'wide' })}>
      <div className="in form">
        <h2>{title}</h2>
        {about !== undefined && <p className="text-muted">{about}</p>}
        <EntryForm {...form} onValues={onValues} onCancel={onClose} onSubmit={(values) => onSubmit(values).then(onClose)} />
      </div>
    </FormDialog>
  );
}
