import { expect, test } from 'vitest';
import { migrationsFolder, readMigrations } from './index.ts';

/*
 * During an upgrade, processes of both versions use one database, and any of them may be restarted. If a migration
 * removes or narrows something, previous programs must have stopped using it, and the migration declares since when
 * (`-- Needs 0031: …`, docs/operate.md).
 */

/** Number of the newest migration that predates this rule. */
const freeBefore = 25;

/** Patterns in a statement that may break a program that knows only the previous schema. */
const breaking: readonly (readonly [string, RegExp])[] = [
  ['takes away', /\bdrop\s+(table|view|type|schema|column|function)\b/i],
  ['takes away', /\balter\s+table\s[^;]*\bdrop\s+(?!constraint|not\s|default|index|expression|identity)/i],
  ['renames', /\brename\b/i],
  ['changes a type', /\balter\s+(column\s+)?\S+\s+(set\s+data\s+)?type\b/i],
  [
    'refuses what was allowed',
    /\bset\s+not\s+null\b|\balter\s+table\s[^;]*\badd\s+(constraint\s+\S+\s+)?(check|unique|foreign|primary|exclude)\b/i,
  ],
  [
    'wants what nobody gave',
    /\badd\s+(column\s+)?(if\s+not\s+exists\s+)?\S+\s+[^,;]*\bnot\s+null(?![^,;]*\bdefault\b)(?<!\bdefault\b[^,;]*)/i,
  ],
];

/** Returns the reasons why a migration may break programs that do not know it. Empty if the migration only adds. */
function faultsOf(text: string): string[] {
  const code = text.replaceAll(/--.*$/gm, '');
  return [...new Set(breaking.flatMap(([why, pattern]) => (pattern.test(code) ? [why] : [])))];
}

test('a migration that takes away or narrows says which programs can work with what it leaves', async () => {
  const silent = (await readMigrations(migrationsFolder)).filter(
    ({ number, text, needs }) => number > freeBefore && needs === 0 && faultsOf(text).length > 0,
  );
  expect(silent.map(({ name, text }) => `${name} ${faultsOf(text).join(', ')}`)).toEqual([]);
});

test.each([
  ['drop table a', ['takes away']],
  ['alter table a drop column b', ['takes away']],
  ['alter table a drop b', ['takes away']],
  ['alter table a rename column b to c', ['renames']],
  ['alter table a alter column b type bigint', ['changes a type']],
  ['alter table a alter b set not null', ['refuses what was allowed']],
  ['alter table a add constraint c check (b > 0)', ['refuses what was allowed']],
  ['alter table a add column b int not null', ['wants what nobody gave']],
  ['alter table a add column b int not null default 0', []],
  ['alter table a add column b int default 0 not null', []],
  ['alter table a alter column b drop default; drop index c', []],
  ['alter table a drop constraint c', []],
  ['create table a (b int not null, unique (b)); -- drop table a', []],
  ['create or replace function f() returns trigger language plpgsql as $$ begin return null; end $$', []],
])('%s: %j', (text, faults) => {
  expect(faultsOf(text)).toEqual(faults);
});
