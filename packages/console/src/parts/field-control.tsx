import type { ReactNode } from 'react';
import type { ControlProps } from './form-field.tsx';
import { TextInput } from './text-input.tsx';
import { sentence } from '../words.ts';
import { isList, numberOf, type Json } from '../data/paths.ts';
import { ProbeControl } from './probe.tsx';
import { RowsControl } from './rows.tsx';
import type { Control } from './control.ts';

export interface FieldControlProps {
  readonly control: Control;
  readonly attributes: ControlProps;
  readonly label: string;
  readonly value: Json;
  readonly isReadOnly: boolean;
  readonly onChange: (value: Json) => void;
}

/** The control of a field, by its declaration. */
export function FieldControl({ control, attributes, label, value, isReadOnly, onChange }: FieldControlProps): ReactNode {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  switch (control.kind) {
    case 'switch':
      return (
        <input
          {...attributes}
          type="checkbox"
          checked={value === true}
          disabled={isReadOnly}
          onChange={({ target }) => onChange(target.checked)}
        />
      );
    case 'choice':
      return (
        <select {...attributes} value={text} disabled={isReadOnly} onChange={({ target }) => onChange(target.value)}>
          {control.options.map((option) => (
            <option key={option} value={option}>
              {option === option.toUpperCase() ? sentence(option) : option}
            </option>
          ))}
        </select>
      );
    case 'number':
      return (
        <span className="with-unit">
          <input
            {...attributes}
            inputMode="numeric"
            autoComplete="off"
            readOnly={isReadOnly}
            value={text}
            onChange={({ target }) => onChange(numberOf(target.value))}
          />
          <span className="text-muted">{control.unit}</span>
        </span>
      );
    case 'lines':
      return (
        <TextInput
          {...attributes}
          rows={Math.max(2, Math.min(8, linesOf(value).split('\n').length))}
          readOnly={isReadOnly}
          value={linesOf(value)}
          onText={(lines) => onChange(listOf(lines))}
        />
      );
    case 'code':
      return <TextInput {...attributes} rows={10} readOnly={isReadOnly} value={text} onText={onChange} />;
    case 'text':
      return <TextInput {...attributes} readOnly={isReadOnly} value={text} onText={onChange} />;
    case 'rows':
      return <RowsControl control={control} label={label} value={value} isReadOnly={isReadOnly} onChange={onChange} />;
    default:
      return <ProbeControl label={label} value={value} isReadOnly={isReadOnly} onChange={onChange} />;
  }
}

/** Returns a list as text, one item a line. If an item has several lines itself, the list is shown as JSON. */
function linesOf(value: Json): string {
  if (typeof value === 'string') return value;
  if (!isList(value)) return '';
  const items = value.map(String);
  return items.some((item) => item.includes('\n') || item.startsWith('[')) ? JSON.stringify(items) : items.join('\n');
}

function listOf(text: string): Json {
  if (text.startsWith('[')) {
    try {
      const items: Json = JSON.parse(text);
      if (isList(items)) return items;
    } catch {
      // Not finished yet: the text stays as it is, and the server refuses it if it is saved.
      return text;
    }
  }
  return text === '' ? [] : text.split('\n');
}
