import type { ReactNode } from 'react';
import { FormField } from '../../parts/form-field.tsx';
import { levels, type Level } from './draft.ts';
import { reachOf } from './origin.tsx';

interface LevelChoiceProps {
  readonly level: Level;
  readonly names: Readonly<Record<Level, string>>;
  readonly help?: string;
  readonly onChange: (level: Level) => void;
}

/** Asks for whom a variable counts. */
export function LevelChoice({ level, names, help, onChange }: LevelChoiceProps): ReactNode {
  return (
    <FormField label="For" help={help}>
      {(control) => (
        <select
          {...control}
          value={level}
          onChange={({ target }) => onChange(levels.find((one) => one === target.value) ?? 'SERVICE')}
        >
          {levels.map((one) => (
            <option key={one} value={one}>
              {reachOf(one, names)}
            </option>
          ))}
        </select>
      )}
    </FormField>
  );
}
