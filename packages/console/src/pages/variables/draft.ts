import type { CallAnswer } from '@davit/client';
import { parseDotenv, writeDotenv, type DotenvEntry, type DotenvProblem } from './dotenv.ts';

/*
 * The state of the editor of variables: what the server has, and the edits. An edit keeps the record as it was when the
 * edit began: if somebody else changes that record, the edit is in conflict until its author has decided.
 */

export type Variable = CallAnswer<'listVariables'>['results'][number];
/** The levels of a variable, narrowest first. */
export const levels = ['SERVICE', 'ENVIRONMENT', 'PROJECT'] as const;
export type Level = (typeof levels)[number];

/** All variables of one key that a service sees. */
export interface Slot {
  readonly key: string;
  /** Narrowest first: the first one is what the process gets. */
  readonly layers: readonly Variable[];
}

export interface Edit {
  readonly level: Level;
  readonly key: string;
  readonly change: 'SET' | 'DELETE';
  readonly value: string;
  readonly isSecret: boolean;
  /** Path of a new file; null: no file, or the path of the existing variable. */
  readonly mountPath: string | null;
  /** The target of a new alias. */
  readonly aliasOf?: Pick<Variable, 'id' | 'key'>;
  /** The record at this level when the edit began; null if there was none. */
  readonly base: Variable | null;
  /** Whether its field is open although it may change nothing yet. */
  readonly isOpen?: boolean;
  /** Why the server refused the edit. */
  readonly error?: string;
}

/** The edits that are not saved, by `idOf`. */
export type Draft = ReadonlyMap<string, Edit>;

export function idOf({ level, key }: Pick<Edit, 'level' | 'key'>): string {
  return `${level} ${key}`;
}

/** Returns where a variable belongs; null for built-in variables, which belong nowhere. */
export function levelOf({ scope }: Variable): Level | null {
  if (scope === 'BUILT_IN') return null;
  return scope === 'PROJECT' || scope === 'ENVIRONMENT' ? scope : 'SERVICE';
}

function width(variable: Variable): number {
  const level = levelOf(variable);
  return level === null ? levels.length : levels.indexOf(level);
}

/** Returns the variables by key, in the order of the keys. */
export function slotsOf(variables: readonly Variable[]): Slot[] {
  const byKey = Map.groupBy(variables, ({ key }) => key);
  return [...byKey]
    .map(([key, layers]) => ({ key, layers: layers.toSorted((one, other) => width(one) - width(other)) }))
    .toSorted((one, other) => (one.key < other.key ? -1 : 1));
}

/** Returns the variable of a slot at a level. */
export function layerAt(slot: Slot | undefined, level: Level): Variable | undefined {
  return slot?.layers.find((layer) => levelOf(layer) === level);
}

/** Returns the wider variable whose value an edit at this level would replace for everything below. */
export function inheritedAt(slot: Slot | undefined, level: Level): Variable | undefined {
  return slot?.layers.find((layer) => width(layer) > levels.indexOf(level));
}

/** Returns why a value cannot be set at a level; null if it can. */
export function refusalAt(slot: Slot | undefined, level: Level): string | null {
  const there = layerAt(slot, level);
  if (there?.variable_type === 'ALIAS') return 'An alias has the value of its target. Edit the target.';
  if (there === undefined && inheritedAt(slot, level)?.scope === 'BUILT_IN') return 'Davit sets built-in variables itself.';
  return null;
}

/** Returns the record as somebody else changed it since its edit began (`now` null: it is gone); null: no conflict. */
export function conflictOf({ level, base }: Edit, slot: Slot | undefined): { readonly now: Variable | null } | null {
  const now = layerAt(slot, level) ?? null;
  return now?.id === base?.id && now?.updated_at === base?.updated_at ? null : { now };
}

/** Returns whether saving the edit would change nothing. */
function isUnchanged({ base, change, value }: Edit): boolean {
  if (change === 'DELETE') return base === null;
  return base !== null && !base.is_secret && base.value === value;
}

/** Returns the edits that change something, by key. */
export function changesOf(draft: Draft): Edit[] {
  const changes = [...draft.values()].filter((edit) => !isUnchanged(edit));
  return changes.toSorted((one, other) => (one.key < other.key ? -1 : 1));
}

/** Returns the draft with an edit that is begun or changed. One that changes nothing is removed, unless it is open. */
export function withEdit(draft: Draft, edit: Edit): Draft {
  const next = new Map(draft);
  if (isUnchanged(edit) && edit.isOpen !== true) next.delete(idOf(edit));
  else next.set(idOf(edit), edit);
  return next;
}

export function without(draft: Draft, edit: Edit): Draft {
  const next = new Map(draft);
  next.delete(idOf(edit));
  return next;
}

/** Returns the draft without an edit that is saved. What was entered while it was being saved stays. */
export function withoutSaved(draft: Draft, edit: Edit): Draft {
  return draft.get(idOf(edit)) === edit ? without(draft, edit) : draft;
}

/** Returns whether a variable is part of the text of its level. Secrets are not shown, aliases have no value. */
function isInText({ is_secret, variable_type: type }: Variable): boolean {
  return !is_secret && type !== 'ALIAS' && type !== 'BUILT_IN';
}

/** Returns the variables of a level as text, without secrets and aliases. */
export function textOf(slots: readonly Slot[], draft: Draft, level: Level): string {
  const lines = slots.flatMap((slot) => {
    const edit = draft.get(idOf({ level, key: slot.key }));
    const there = layerAt(slot, level);
    if (edit?.change === 'DELETE' || edit?.isSecret === true) return [];
    if (edit !== undefined) return [writeDotenv(slot.key, edit.value)];
    return there !== undefined && isInText(there) ? [writeDotenv(slot.key, there.value ?? '')] : [];
  });
  const known = new Set(slots.map(({ key }) => key));
  const added = [...draft.values()].filter((edit) => edit.level === level && !known.has(edit.key) && !edit.isSecret);
  return [...lines, ...added.map(({ key, value }) => writeDotenv(key, value))].map((line) => `${line}\n`).join('');
}

export interface FromText {
  readonly draft: Draft;
  readonly problems: readonly DotenvProblem[];
  readonly count: { readonly added: number; readonly changed: number; readonly removed: number };
}

interface TextInput {
  readonly slots: readonly Slot[];
  readonly draft: Draft;
  readonly level: Level;
  readonly text: string;
  /** Whether variables of the level that the text lacks are deleted. */
  readonly doesReplace: boolean;
  /** Returns whether a new key becomes a secret. */
  readonly isSecret: (key: string) => boolean;
}

/** Returns the draft with what a text sets at a level. */
export function withText({ slots, draft, level, text, doesReplace, isSecret }: TextInput): FromText {
  const { entries, problems } = parseDotenv(text);
  const byKey = new Map(slots.map((slot) => [slot.key, slot]));
  const refused: DotenvProblem[] = [];
  const count = { added: 0, changed: 0, removed: 0 };
  let next: Draft = doesReplace ? new Map([...draft].filter(([, edit]) => edit.level !== level || edit.isSecret)) : draft;
  for (const entry of entries) {
    const slot = byKey.get(entry.key);
    const refusal = refusalAt(slot, level);
    if (refusal !== null) refused.push({ line: entry.line, message: `${entry.key}: ${refusal}`, isNote: false });
    else {
      const edit = editOf(entry, { slot, level, isSecret });
      const before = next.get(idOf(edit));
      next = withEdit(next, before === undefined ? edit : { ...edit, base: before.base });
      if (next.has(idOf(edit))) count[edit.base === null ? 'added' : 'changed'] += 1;
    }
  }
  const kept = new Set(entries.map(({ key }) => key));
  for (const slot of doesReplace ? slots : []) {
    const there = layerAt(slot, level);
    if (there === undefined || kept.has(slot.key) || !isInText(there)) continue;
    next = withEdit(next, { ...editOf({ ...slot, value: '', line: 0 }, { slot, level, isSecret }), change: 'DELETE' });
    count.removed += 1;
  }
  return { draft: next, problems: [...problems, ...refused].toSorted((one, other) => one.line - other.line), count };
}

type Where = Pick<TextInput, 'level' | 'isSecret'> & { readonly slot: Slot | undefined };

function editOf({ key, value }: DotenvEntry, { slot, level, isSecret }: Where): Edit {
  const base = layerAt(slot, level) ?? null;
  const inherited = inheritedAt(slot, level);
  const isHidden = base?.is_secret ?? inherited?.is_secret ?? isSecret(key);
  return { level, key, change: 'SET', value, isSecret: isHidden, mountPath: null, base };
}

/** Returns whether a key is named like a secret. */
export function looksSecret(key: string): boolean {
  return /(^|_)(SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|DSN)(_|$)|(API|PRIVATE|ACCESS|SIGNING|ENCRYPTION)_?KEY/i.test(
    key,
  );
}
