import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { isList, numberOf, type Json } from '../data/paths.ts';
import type { Column, Control } from './control.ts';

interface RowsControlProps {
  readonly control: Extract<Control, { readonly kind: 'rows' }>;
  readonly label: string;
  readonly value: Json;
  readonly isReadOnly: boolean;
  readonly onChange: (value: Json) => void;
}

/** A list of objects, or of pairs, as a small table. */
export function RowsControl({ control, label, value, isReadOnly, onChange }: RowsControlProps): ReactNode {
  const rows = isList(value) ? value : [];
  const widths = control.columns.map(({ width = 'minmax(0, 1fr)' }) => width).join(' ');
  const style = { gridTemplateColumns: `${widths} 76px` };
  const change = (at: number, column: Column, cell: Json): void => {
    onChange(rows.map((row, index) => (index === at ? withCell(row, column.name, cell) : row)));
  };
  return (
    <div className="rows" role="group" aria-label={label}>
      {rows.length > 0 && (
        <div className="rows-head" style={style} aria-hidden="true">
          {control.columns.map((column) => (
            <span key={column.name}>{column.label}</span>
          ))}
        </div>
      )}
      {rows.map((row, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- new rows have no identity beside their place
        <div key={index} className="rows-row" style={style}>
          {control.columns.map((column) => (
            <label key={column.name}>
              <span className="narrow-only">{column.label}</span>
              <Cell
                column={column}
                label={`${label} ${index + 1}: ${column.label}`}
                value={cellOf(row, column.name)}
                isReadOnly={isReadOnly}
                onChange={(cell) => change(index, column, cell)}
              />
            </label>
          ))}
          <Button
            look="quiet"
            isSmall
            refusal={isReadOnly ? 'You may not edit this.' : null}
            onClick={() => onChange(rows.filter((_, at) => at !== index))}
          >
            Remove<span className="sr-only">{` ${label} ${index + 1}`}</span>
          </Button>
        </div>
      ))}
      <div>
        <Button
          isSmall
          refusal={isReadOnly ? 'You may not edit this.' : null}
          onClick={() => onChange([...rows, control.isPairs === true ? ['', ''] : { ...control.blank }])}
        >
          {control.add}
        </Button>
      </div>
    </div>
  );
}

interface CellProps {
  readonly column: Column;
  readonly label: string;
  readonly value: Json;
  readonly isReadOnly: boolean;
  readonly onChange: (value: Json) => void;
}

function Cell({ column: { kind }, label, value, isReadOnly, onChange }: CellProps): ReactNode {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  if (kind === 'check') {
    return (
      <input
        type="checkbox"
        aria-label={label}
        checked={value === true}
        disabled={isReadOnly}
        onChange={({ target }) => onChange(target.checked)}
      />
    );
  }
  if (kind === 'text' || kind === 'number') {
    const shared = { 'aria-label': label, className: 'input mono', spellCheck: false, autoComplete: 'off', readOnly: isReadOnly };
    if (text.includes('\n')) {
      return <textarea {...shared} rows={8} value={text} onChange={({ target }) => onChange(target.value)} />;
    }
    const parse = kind === 'number' ? numberOf : (typed: string): Json => typed;
    return (
      <input
        {...shared}
        inputMode={kind === 'number' ? 'numeric' : 'text'}
        value={text}
        onChange={({ target }) => onChange(parse(target.value))}
      />
    );
  }
  return (
    <select
      aria-label={label}
      className="input"
      value={text}
      disabled={isReadOnly}
      onChange={({ target }) => onChange(target.value)}
    >
      {kind.map((option) => (
        <option key={option}>{option}</option>
      ))}
    </select>
  );
}

function cellOf(row: Json, name: string): Json {
  if (isList(row)) return row[Number(name)];
  return typeof row === 'object' && row !== null ? row[name] : undefined;
}

function withCell(row: Json, name: string, cell: Json): Json {
  if (isList(row)) return row.with(Number(name), cell);
  const next = typeof row === 'object' && row !== null ? row : {};
  return { ...next, [name]: cell === '' ? null : cell };
}
