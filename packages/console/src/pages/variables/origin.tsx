import type { ReactNode } from 'react';
import { levelOf, type Level, type Slot, type Variable } from './draft.ts';

export const levelWords: Readonly<Record<Level, string>> = { SERVICE: 'service', ENVIRONMENT: 'environment', PROJECT: 'project' };

/** Returns for whom a change at a level counts. */
export function reachOf(level: Level, names: Readonly<Record<Level, string>>): string {
  if (level === 'SERVICE') return `Only ${names.SERVICE}`;
  return level === 'ENVIRONMENT' ? `All services of ${names.ENVIRONMENT}` : `All environments of ${names.PROJECT}`;
}

function ownerWords(variable: Variable): string {
  const level = levelOf(variable);
  if (level !== null) return levelWords[level];
  return variable.service_name === undefined ? 'built in' : `built in · ${variable.service_name}`;
}

/** Where a variable comes from, and what it overrides. */
export function Origin({ slot, layer }: { readonly slot: Slot; readonly layer: Variable }): ReactNode {
  const wider = slot.layers[slot.layers.indexOf(layer) + 1];
  const narrower = slot.layers[slot.layers.indexOf(layer) - 1];
  const target = layer.aliased_variable;
  return (
    <span className="from">
      {ownerWords(layer)}
      {target !== undefined && <bdi>{` · alias of ${target.key}`}</bdi>}
      {wider !== undefined && (
        <>
          {` · overrides ${ownerWords(wider)}`}
          {!wider.is_secret && (
            <>
              : <s className="mono">{wider.value}</s>
            </>
          )}
        </>
      )}
      {narrower !== undefined && ` · overridden by ${ownerWords(narrower)}`}
    </span>
  );
}

const reference = /\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g;
const deepest = 10;

/** Returns the value with its references replaced, as far as the page knows their values; null without references. */
export function resolved(value: string, slots: ReadonlyMap<string, Slot>, depth = 0): string | null {
  if (!value.includes('{{') || depth > deepest) return null;
  let doesReplace = false;
  const text = value.replaceAll(reference, (whole, key: string) => {
    const found = slots.get(key)?.layers[0];
    const known = found?.aliased_variable?.value ?? found?.value;
    if (found === undefined || found.is_secret || known === null || known === undefined) return whole;
    doesReplace = true;
    return resolved(known, slots, depth + 1) ?? known;
  });
  return doesReplace ? text : null;
}
