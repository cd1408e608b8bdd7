declare const kind: unique symbol;

/** A uuid that says what it is the id of, so that a project's cannot be passed for an environment's. */
export type Id<Kind extends string> = string & { readonly [kind]?: Kind };

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return uuid.test(text);
}
