import { ApiError } from '@davit/client';
import { Fragment, useId, type ReactNode } from 'react';
import { FieldControl } from './field-control.tsx';
import { valueAt, type Json } from '../data/paths.ts';
import type { Control } from './control.ts';
import { FormField, messageAt, type ControlProps } from './form-field.tsx';

/** A choice whose values differ from their words, as of records by their ids. */
export interface PickControl {
  readonly kind: 'pick';
  readonly options: readonly (readonly [value: string, words: string])[];
  /** The words for no choice. Without them one must be chosen. */
  readonly none?: string;
}

export type EntryControl = Control | PickControl | { readonly kind: 'secret' | 'secret-code' | 'email' | 'date' };

/** A field of a form: where its value is in the request, and how it is entered. */
export interface Entry {
  /** Path of the field in the request, and so in the API's errors. */
  readonly path: string;
  readonly label: string;
  readonly help?: string;
  readonly control: EntryControl;
  /** Heading above this field and those that follow with the same one. */
  readonly section?: string;
  /** Texts that are offered while one types. */
  readonly suggestions?: readonly string[];
}

interface EntryFieldProps {
  readonly entry: Entry;
  readonly value: Json;
  readonly error: string | null;
  readonly onChange: (value: Json) => void;
}

/** A field of a form, with the server's message below it. */
export function EntryField({ entry, value, error, onChange }: EntryFieldProps): ReactNode {
  const { label, help, control, suggestions = [] } = entry;
  const listId = useId();
  if (control.kind === 'switch') {
    return (
      <div className="form-field">
        <label className="check">
          <input type="checkbox" checked={value === true} onChange={({ target }) => onChange(target.checked)} />
          <span>
            {label}
            {help !== undefined && <span className="under block">{help}</span>}
          </span>
        </label>
      </div>
    );
  }
  return (
    <FormField label={label} help={help} error={error}>
      {(attributes) => (
        <>
          <EntryInput
            entry={entry}
            attributes={suggestions.length > 0 ? { ...attributes, list: listId } : attributes}
            value={value}
            onChange={onChange}
          />
          {suggestions.length > 0 && (
            <datalist id={listId}>
              {suggestions.map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
          )}
        </>
      )}
    </FormField>
  );
}

interface EntryInputProps extends Pick<EntryFieldProps, 'entry' | 'value' | 'onChange'> {
  readonly attributes: ControlProps & { readonly list?: string };
}

function EntryInput({ entry: { label, control }, attributes, value, onChange }: EntryInputProps): ReactNode {
  const text = typeof value === 'string' ? value : '';
  switch (control.kind) {
    case 'pick':
      return (
        <select {...attributes} value={text} onChange={({ target }) => onChange(target.value)}>
          {control.none !== undefined && <option value="">{control.none}</option>}
          {control.options.map(([one, words]) => (
            <option key={one} value={one}>
              {words}
            </option>
          ))}
        </select>
      );
    case 'secret':
    case 'email':
    case 'date':
      return (
        <input
          {...attributes}
          type={control.kind === 'secret' ? 'password' : control.kind}
          autoComplete={control.kind === 'secret' ? 'new-password' : 'off'}
          value={text}
          onChange={({ target }) => onChange(target.value)}
        />
      );
    case 'secret-code':
      return (
        <textarea
          {...attributes}
          className="mono"
          rows={6}
          spellCheck={false}
          autoComplete="off"
          value={text}
          onChange={({ target }) => onChange(target.value)}
        />
      );
    default:
      return (
        <FieldControl
          control={control}
          attributes={attributes}
          label={label}
          value={value}
          isReadOnly={false}
          onChange={onChange}
        />
      );
  }
}

interface EntriesProps {
  readonly entries: readonly Entry[];
  readonly values: Json;
  readonly error: Error | null;
  readonly onChange: (path: string, value: Json) => void;
  /** Parts at the end of sections, by their headings. */
  readonly after?: Readonly<Record<string, ReactNode>>;
}

/** The fields of a form, in their order, below the headings of their sections. */
export function Entries({ entries, values, error, onChange, after = {} }: EntriesProps): ReactNode {
  const sections = [...Map.groupBy(entries, ({ section = '' }) => section)];
  return sections.map(([section, fields]) => {
    const content = (
      <>
        {fields.map((entry) => (
          <EntryField
            key={entry.path}
            entry={entry}
            value={valueAt(values, entry.path)}
            error={messageAt(error, entry.path)}
            onChange={(value) => onChange(entry.path, value)}
          />
        ))}
        {after[section]}
      </>
    );
    if (section === '') return <Fragment key="">{content}</Fragment>;
    return (
      <fieldset key={section} className="entry-section">
        <legend>{section}</legend>
        {content}
      </fieldset>
    );
  });
}

/** Returns what an error says besides its messages at these fields; null if all of it stands at them. */
export function wordsBeside(error: Error | null, entries: readonly Entry[]): string | null {
  if (error === null) return null;
  if (!(error instanceof ApiError)) return 'The server does not answer. Check that Davit runs, then try again.';
  const isShown = (path: string): boolean => entries.some((entry) => path === entry.path || path.startsWith(`${entry.path}.`));
  const others = error.errors.filter(({ path }) => !isShown(path));
  if (error.errors.length > 0 && others.length === 0) return null;
  return others.length === 0 ? error.message : others.map(({ path, message }) => `${path} ${message}`).join('; ');
}
