import type { ReactNode } from 'react';
import { announceInput } from './announce-input.ts';

interface SegmentsProps<Value extends string> {
  readonly label: string;
  readonly options: readonly (readonly [Value, string])[];
  readonly value: Value;
  readonly onChange: (value: Value) => void;
}

/** A choice of two or three, all of which are visible. */
export function Segments<Value extends string>({ label, options, value, onChange }: SegmentsProps<Value>): ReactNode {
  return (
    <div className="segments" role="group" aria-label={label}>
      {options.map(([one, words]) => (
        <button
          key={one}
          type="button"
          aria-pressed={one === value}
          onClick={({ currentTarget }) => {
            onChange(one);
            announceInput(currentTarget);
          }}
        >
          {words}
        </button>
      ))}
    </div>
  );
}
