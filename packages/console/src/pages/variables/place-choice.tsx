import type { ReactNode } from 'react';
import { FormField } from '../../parts/form-field.tsx';
import { places, type Place } from './draft.ts';
import { reachOf } from './origin.tsx';

interface PlaceChoiceProps {
  readonly place: Place;
  readonly names: Readonly<Record<Place, string>>;
  readonly help?: string;
  readonly onChange: (place: Place) => void;
}

/** Asks for whom a variable counts. */
export function PlaceChoice({ place, names, help, onChange }: PlaceChoiceProps): ReactNode {
  return (
    <FormField label="For" help={help}>
      {(control) => (
        <select
          {...control}
          value={place}
          onChange={({ target }) => onChange(places.find((one) => one === target.value) ?? 'SERVICE')}
        >
          {places.map((one) => (
            <option key={one} value={one}>
              {reachOf(one, names)}
            </option>
          ))}
        </select>
      )}
    </FormField>
  );
}
