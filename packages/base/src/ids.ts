declare const kind: unique symbol;

/** A UUID typed by the kind of record it identifies, so that a project's id cannot be passed as an environment's. */
export type Id<Kind extends string> = string & { readonly [kind]?: Kind };

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return uuid.test(text);
}
