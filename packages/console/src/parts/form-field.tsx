import { ApiError } from '@davit/client';
import { useId, type ReactNode } from 'react';

/** The attributes that tie a control to its label, its help and its error. */
export interface ControlProps {
  readonly id: string;
  readonly 'aria-describedby'?: string;
  readonly 'aria-invalid'?: true;
}

interface FormFieldProps {
  readonly label: ReactNode;
  readonly help?: ReactNode | undefined;
  readonly error?: string | null | undefined;
  readonly children: (control: ControlProps) => ReactNode;
}

/** A control with its label above, and help and the server's message below. */
export function FormField({ label, help, error = null, children }: FormFieldProps): ReactNode {
  const id = useId();
  const described = [help === undefined ? '' : `${id}-help`, error === null ? '' : `${id}-error`].filter((one) => one !== '');
  return (
    <div className="form-field">
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        ...(described.length > 0 && { 'aria-describedby': described.join(' ') }),
        ...(error !== null && { 'aria-invalid': true }),
      })}
      {help !== undefined && (
        <div id={`${id}-help`} className="under">
          {help}
        </div>
      )}
      {error !== null && (
        <div id={`${id}-error`} className="wrong" role="alert">
          {error}
        </div>
      )}
    </div>
  );
}

/** Returns the server's messages about a field: those whose path is it, or lies below it. */
export function messageAt(error: Error | null, path: string): string | null {
  if (!(error instanceof ApiError)) return null;
  const found = error.errors.filter((one) => one.path === path || one.path.startsWith(`${path}.`));
  return found.length === 0
    ? null
    : found.map((one) => (one.path === path ? one.message : `${one.path.slice(path.length + 1)}: ${one.message}`)).join('; ');
}

/** Returns the server's words for an error, with the messages about single fields. */
export function wordsOfError(error: unknown): string {
  if (!(error instanceof ApiError)) return 'The server does not answer.';
  const fields = error.errors.map(({ path, message }) => `${path} ${message}`);
  return fields.length === 0 ? error.message : fields.join('; ');
}
