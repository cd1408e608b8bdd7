import { operationList } from '@davit/contract';
import type { AddressOf } from './markdown.ts';
import type { Model } from './model.ts';
import { operationAddress } from './order.ts';
import { typeAddress } from './schema.ts';

const byCall: ReadonlyMap<string, string> = new Map(operationList.map(({ method, path, id }) => [`${method} ${path}`, id]));

/** Returns the address of the explanation of a cause. */
export function causeAddress(code: string): string {
  return `/docs/errors#${code.toLowerCase()}`;
}

/** Returns the address of the row of a code of answers. */
export function codeAddress(code: string, { causes }: Pick<Model, 'causes'>): string {
  return `/docs/errors#${codeAnchor(code, causes.has(code))}`;
}

/** Returns the anchor of the row of a code of answers. A cause of the same name has the name as its anchor. */
export function codeAnchor(code: string, isCause: boolean): string {
  return isCause ? `${code.toLowerCase()}-answer` : code.toLowerCase();
}

/** Returns where words of the contract in code lead: as in the documentation, and names of types. */
export function addressesIn(model: Model): AddressOf {
  const inText = addressesInText(model);
  return (word) => (model.types.has(word) ? typeAddress(word) : inText(word));
}

/**
 * Returns where words of the documentation in code lead: ids of operations, their method and path, and error codes. It
 * speaks of no types: `Origin` is a header there. A code that is a value of an enumeration, too, means that one.
 */
export function addressesInText(model: Model): AddressOf {
  const { entries, types, errors, causes } = model;
  const values = new Set([...types.values()].flatMap((schema) => schema.enum ?? []));
  return (word) => {
    if (word === '/docs/errors') return word;
    const id = entries.has(word) ? word : byCall.get(word);
    if (id !== undefined) return operationAddress(id);
    if (values.has(word)) return undefined;
    if (causes.has(word)) return causeAddress(word);
    return errors.has(word) ? codeAddress(word, model) : undefined;
  };
}
