import { operationList } from '@davit/contract';
import type { AddressOf } from './markdown.ts';
import type { Model } from './model.ts';
import { operationAddress } from './order.ts';
import { typeAddress } from './schema.ts';

const byCall: ReadonlyMap<string, string> = new Map(operationList.map(({ method, path, id }) => [`${method} ${path}`, id]));

export function errorAddress(code: string): string {
  return `/docs/errors#${code.toLowerCase()}`;
}

/** Returns where words in code lead: ids of operations, their method and path, names of types, and error codes. */
export function addressesIn({ entries, types, errors, causes }: Model): AddressOf {
  return (word) => {
    if (word === '/docs/errors') return word;
    const id = entries.has(word) ? word : byCall.get(word);
    if (id !== undefined) return operationAddress(id);
    if (types.has(word)) return typeAddress(word);
    return errors.has(word) || causes.has(word) ? errorAddress(word) : undefined;
  };
}
