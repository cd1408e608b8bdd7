import { hasControlCharacter } from '@davit/base';
import type { Queryable } from '@davit/db';
import { isSystemPath, leavesRoot, pathFault, type Problems } from '../shared/problems.ts';
import { circleOf, circlesOf } from './effective.ts';
import { idOf, isOwnedBy, type VariableOwner } from './owner.ts';
import { referenceKeys } from './references.ts';
import { level, levelNouns, type VariableRow } from './row.ts';
import { cycle, keyTaken, ownerNoun, type Stored } from './change.ts';
import { lockFiles } from './store.ts';

/** Fails with KEY_TAKEN if the owner has or inherits the key. */
export function assertKeyFree(key: string, rows: readonly VariableRow[], owner: VariableOwner): void {
  const taken = rows.filter((row) => row.key === key);
  if (taken.some((row) => isOwnedBy(row, owner))) {
    throw keyTaken(`${key} exists already at this ${ownerNoun(owner)}, as a variable or as a secret`);
  }
  assertNotInherited(key, rows, owner);
}

/** Fails with KEY_TAKEN if the owner inherits the key. */
export function assertNotInherited(key: string, rows: readonly VariableRow[], owner: VariableOwner): void {
  const inherited = rows.find((row) => row.key === key && !isOwnedBy(row, owner));
  if (inherited === undefined) return;
  const where = levelNouns[level(inherited)];
  throw keyTaken(
    `${key} is inherited from the ${where}; a different value at this ${ownerNoun(owner)} is an override of it, not a second variable`,
  );
}

// Longest entry of a process's environment in bytes, with key and `=` (MAX_ARG_STRLEN of Linux, with its final NUL).
const longestEntryBytes = 131_071;

/** `path`: path of the value in the request. */
export function checkLength(
  { key, value, path = 'value' }: { key: string; value: string; path?: string },
  problems: Problems,
): void {
  if (Buffer.byteLength(key) + 1 + Buffer.byteLength(value) <= longestEntryBytes) return;
  problems.add(
    path,
    `is too long for a process's environment (${longestEntryBytes} bytes with its key); set mount_path to give it as a file`,
  );
}

/** `others`: variables whose files must not have the same path. */
export function checkMountPath(mountPath: string | null, others: readonly VariableRow[], problems: Problems): void {
  if (mountPath === null) return;
  const isAbsolute = mountPath.startsWith('/') && !mountPath.endsWith('/') && !mountPath.includes('//');
  // `/etc/.` is the folder `/etc`.
  const isPath = isAbsolute && !mountPath.endsWith('/.');
  if (!isPath || leavesRoot(mountPath) || hasControlCharacter(mountPath)) {
    problems.add(
      'mount_path',
      'must be the absolute path of a file, without .., double slashes, a dot as its name or control characters',
    );
    return;
  }
  if (isSystemPath(mountPath)) {
    problems.add('mount_path', 'must not be in /proc, /sys or /dev, where no file can be placed; choose another folder');
    return;
  }
  const fault = pathFault(mountPath);
  if (fault !== null) {
    problems.add('mount_path', fault);
    return;
  }
  const other = others.find((row) => row.mount_path === mountPath);
  if (other !== undefined) problems.add('mount_path', `is where ${other.key} is mounted; choose another path`);
}

/**
 * Locks the files of an owner before their rows are read, so that concurrent requests check paths one after the other.
 */
export async function lockMountPaths(tx: Queryable, owner: VariableOwner, mountPath: string | null | undefined): Promise<void> {
  if (typeof mountPath === 'string' && mountPath !== '') await tx.run(lockFiles, [idOf(owner)]);
}

/** Fails with VARIABLE_CYCLE if the written variable now refers back to itself, as seen from the owner. */
export function assertNoCycle({ row, rows }: Stored, owner: VariableOwner): void {
  // Fast path: the variable has no references, so the other variables need no check.
  if (row.type !== 'ALIAS' && (row.reference_keys ?? referenceKeys(row.value ?? '')).length === 0) return;
  const way = circleOf(rows, owner.builtIns, row.key);
  if (way !== undefined) throw cycle(way, `at this ${ownerNoun(owner)}`);
}

/** Fails with VARIABLE_CYCLE if one of the written variables now refers back to itself. */
export function assertNoCycles(keys: ReadonlySet<string>, rows: readonly VariableRow[], owner: VariableOwner): void {
  const way = circlesOf(rows, owner.builtIns).find((circle) => circle.some((key) => keys.has(key)));
  if (way !== undefined) throw cycle(way, `at this ${ownerNoun(owner)}`);
}
