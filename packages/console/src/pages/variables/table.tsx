import { useSearch } from '@tanstack/react-router';
import { Fragment, useDeferredValue, type ReactNode } from 'react';
import { Face } from '../../parts/face.tsx';
import { useGrowing } from '../../parts/growing.ts';
import { idOf, layerAt, levelOf, levels, type Draft, type Edit, type Level, type Slot, type Variable } from './draft.ts';
import { levelWords } from './origin.tsx';
import { VariableRow } from './row.tsx';

interface VariableTableProps {
  readonly slots: readonly Slot[];
  readonly byKey: ReadonlyMap<string, Slot>;
  readonly draft: Draft;
  readonly names: Readonly<Record<Level, string>>;
  readonly refusal: string | null;
  /** `former`: the edit that this one replaces. */
  readonly onEdit: (edit: Edit, former?: Edit) => void;
  readonly onUndo: (edit: Edit) => void;
}

interface Shown {
  readonly slot: Slot;
  readonly layer: Variable | undefined;
  readonly edit: Edit | undefined;
  readonly level: Level | null;
}

/** The variables, either as the process gets them or by scope, filtered by what is in the address. */
export function VariableTable({ slots, byKey, draft, names, refusal, onEdit, onUndo }: VariableTableProps): ReactNode {
  const { find = '', by = 'process' } = useSearch({ strict: false });
  const all = [...slots, ...newSlots(draft, byKey)].toSorted((one, other) => (one.key < other.key ? -1 : 1));
  const groups = by === 'scope' ? byScope(all, draft) : byAuthor(all.map((slot) => effective(slot, draft)));
  // The rows may wait for a moment, the field in which somebody types may not.
  const words = useDeferredValue(find).toLowerCase().split(/\s+/);
  const shown = groups
    .map(({ title, rows }) => ({ title, rows: rows.filter((row) => row.edit !== undefined || hasWords(row, words)) }))
    .filter(({ rows }) => rows.length > 0);
  const drawn = useGrowing(shown.reduce((sum, { rows }) => sum + rows.length, 0));
  if (shown.length === 0) {
    return find === '' ? (
      <Face icon="key" title="No variables yet">
        Add one, or paste the .env file of the project.
      </Face>
    ) : (
      <Face icon="search" title="No variable has this">
        The filter looks at keys, values and origins. Values of secrets are not known here.
      </Face>
    );
  }
  return (
    <table className="list variables">
      <thead>
        <tr>
          <th className="w-[26%]">Key</th>
          <th>Value</th>
          <th className="w-[26%]">From</th>
          <th className="w-[136px]">
            <span className="sr-only">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {firstOf(shown, drawn).map(({ title, rows }) => (
          <Fragment key={title ?? ''}>
            {title !== null && (
              <tr className="stage">
                <th colSpan={4} scope="rowgroup">
                  {title}
                </th>
              </tr>
            )}
            {rows.map(({ slot, layer, edit, level }) => (
              <VariableRow
                key={`${title} ${slot.key}`}
                slot={slot}
                layer={layer}
                edit={edit}
                level={level}
                slots={byKey}
                names={names}
                refusal={refusal}
                onEdit={onEdit}
                onUndo={onUndo}
              />
            ))}
          </Fragment>
        ))}
      </tbody>
    </table>
  );
}

interface Group {
  readonly title: string | null;
  readonly rows: readonly Shown[];
}

/** Returns the groups with so many rows of all of them. */
function firstOf(groups: readonly Group[], count: number): Group[] {
  let left = count;
  return groups.flatMap(({ title, rows }) => {
    const some = rows.slice(0, left);
    left -= some.length;
    return some.length === 0 ? [] : [{ title, rows: some }];
  });
}

/** Returns the keys that exist only in edits. */
function newSlots(draft: Draft, byKey: ReadonlyMap<string, Slot>): Slot[] {
  const keys = new Set([...draft.values()].map(({ key }) => key).filter((key) => !byKey.has(key)));
  return [...keys].map((key) => ({ key, layers: [] }));
}

/** Returns what people set before what Davit sets. */
function byAuthor(rows: readonly Shown[]): { readonly title: string | null; readonly rows: Shown[] }[] {
  const isBuiltIn = ({ layer }: Shown): boolean => layer?.scope === 'BUILT_IN';
  return [
    { title: null, rows: rows.filter((row) => !isBuiltIn(row)) },
    { title: 'Built in', rows: rows.filter(isBuiltIn) },
  ];
}

function effective(slot: Slot, draft: Draft): Shown {
  const edit = levels.map((level) => draft.get(idOf({ level, key: slot.key }))).find((one) => one !== undefined);
  return { slot, layer: slot.layers[0], edit, level: null };
}

function byScope(slots: readonly Slot[], draft: Draft): { readonly title: string; readonly rows: Shown[] }[] {
  const groups = levels.map((level) => ({
    title: `From the ${levelWords[level]}`,
    rows: slots.flatMap((slot): Shown[] => {
      const layer = layerAt(slot, level);
      const edit = draft.get(idOf({ level, key: slot.key }));
      return layer === undefined && edit === undefined ? [] : [{ slot, layer, edit, level }];
    }),
  }));
  const builtIn = slots.flatMap((slot): Shown[] => {
    const layer = slot.layers.find((one) => levelOf(one) === null);
    return layer === undefined ? [] : [{ slot, layer, edit: undefined, level: null }];
  });
  return [...groups, { title: 'Built in', rows: builtIn }];
}

function hasWords({ slot, layer }: Shown, words: readonly string[]): boolean {
  const level = layer === undefined ? null : levelOf(layer);
  const text = [
    slot.key,
    layer?.value,
    layer?.aliased_variable?.key,
    layer?.service_name,
    level === null ? 'built in' : levelWords[level],
  ];
  const whole = text.join(' ').toLowerCase();
  return words.every((word) => whole.includes(word));
}
