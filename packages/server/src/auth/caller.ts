import type { Origin, Scope } from '@davit/contract';

/** Who makes a request. */
export interface Caller {
  /** Stable id of the token or user; requests of the same actor may be merged in the queue. */
  readonly actor: string;
  /** For people: the token's name. */
  readonly name: string;
  readonly scope: Scope;
  /** The only organization it may see; null: all of the instance. */
  readonly organizationId: string | null;
  readonly origin: Origin;
}

/** Whether the caller may know that something of this organization exists. */
export function canSee(caller: Caller, organizationId: string): boolean {
  return caller.organizationId === null || caller.organizationId === organizationId;
}
