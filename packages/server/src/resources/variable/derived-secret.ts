import type { Queryable } from '@davit/db';
import type { ValuePart } from '@davit/engine/port';
import type { Needs } from '../../deps.ts';
import type { DerivedSecret } from './effective.ts';
import { pieces } from './references.ts';
import { insertSecretValue, readSecretValues } from './store.ts';

const longestText = 1_048_576;

export interface SecretOwner {
  readonly organizationId: string;
  readonly serviceId: string;
}

/**
 * Stores the resolved texts of secrets that reference other variables, encrypted, unless they are stored already. Must
 * run in the transaction that writes the release with these secrets.
 */
export async function storeDerivedSecrets(
  deps: Needs<'vault'>,
  tx: Queryable,
  owner: SecretOwner,
  derived: readonly DerivedSecret[],
): Promise<void> {
  if (derived.length === 0) return;
  const wanted = new Set(derived.flatMap((secret) => [secret.id, secret.baseId, ...secretsOf(secret)]));
  const stored = await tx.many(readSecretValues, [[...wanted]]);
  const texts = new Map(stored.map(({ id, sealed }) => [id, deps.vault.open(id, sealed)]));
  for (const secret of derived) {
    if (texts.has(secret.id)) continue;
    const base = texts.get(secret.baseId);
    if (base === undefined) throw new Error(`secret value ${secret.baseId} is missing`);
    const text = resolvedText(base, secret.references, texts);
    texts.set(secret.id, text);
    const sealed = deps.vault.seal(secret.id, text);
    await tx.run(insertSecretValue, [secret.id, owner.organizationId, null, null, owner.serviceId, sealed, []]);
  }
}

function secretsOf({ references }: DerivedSecret): string[] {
  return Object.values(references).flatMap((parts) => parts.flatMap((part) => (typeof part === 'string' ? [] : [part.secret])));
}

/**
 * Returns the text with resolved references. A reference that would make the text too long stays as written, like in
 * values that are not secret.
 */
function resolvedText(
  base: string,
  references: Readonly<Record<string, readonly ValuePart[]>>,
  texts: ReadonlyMap<string, string>,
): string {
  const values = new Map(
    Object.entries(references).map(([key, parts]) => [
      key,
      parts.map((part) => (typeof part === 'string' ? part : (texts.get(part.secret) ?? ''))).join(''),
    ]),
  );
  let length = base.length;
  return pieces(base)
    .map((piece) => {
      if ('text' in piece) return piece.text;
      const value = values.get(piece.key);
      const growth = (value?.length ?? 0) - piece.written.length;
      if (value === undefined || length + growth > longestText) return piece.written;
      length += growth;
      return value;
    })
    .join('');
}
