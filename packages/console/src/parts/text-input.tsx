import type { ReactNode } from 'react';
import type { ControlProps } from './form-field.tsx';

interface TextInputProps extends ControlProps {
  readonly value: string;
  readonly onText: (text: string) => void;
  /** More than one: the text may have several lines. */
  readonly rows?: number;
  readonly readOnly?: boolean;
}

/** A field for code: keys, paths, values. The browser neither corrects nor remembers what is typed. */
export function TextInput({ rows = 1, onText, ...control }: TextInputProps): ReactNode {
  const rest = { ...control, className: 'mono', spellCheck: false, autoComplete: 'off', autoCapitalize: 'off' };
  if (rows > 1) return <textarea {...rest} rows={rows} onChange={({ target }) => onText(target.value)} />;
  return <input {...rest} onChange={({ target }) => onText(target.value)} />;
}
