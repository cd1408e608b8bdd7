import type { BuiltInRole, ClusterPermission, EnvironmentMode, Origin, ProjectPermission, Scope } from '@davit/contract';

/** What a custom role allows. A cluster that is not named has VIEWER, a project that is not named NO_ACCESS. */
export interface CustomRights {
  readonly id: string;
  readonly name: string;
  readonly clusters: Readonly<Record<string, ClusterPermission>>;
  readonly projects: Readonly<Record<string, ProjectRights>>;
}

export interface ProjectRights {
  readonly isAdmin: boolean;
  readonly permissions: Readonly<Partial<Record<EnvironmentMode, ProjectPermission>>>;
}

/** What a caller may do where it is. `none`: a person outside of all organizations. */
export type Access =
  | { readonly kind: 'scope'; readonly scope: Scope }
  | { readonly kind: 'role'; readonly role: BuiltInRole }
  | { readonly kind: 'custom'; readonly rights: CustomRights }
  | { readonly kind: 'none' };

/** Somebody who signed in. */
export interface Person {
  readonly id: string;
  /** As `comparableEmail` has it, and only where the issuer says that it is verified. */
  readonly verifiedEmail: string | null;
  /** By organization, the oldest organization first. */
  readonly memberships: ReadonlyMap<string, Access>;
  /** The session that the request is made with; null: with an issuer's token. */
  readonly sessionId: string | null;
}

/** Who makes a request. */
export interface Caller {
  /** Stable id of the token or person; requests of the same actor may be merged in the queue. */
  readonly actor: string;
  /** For people: the token's name, or the person's. */
  readonly name: string;
  readonly access: Access;
  /** The only organization it may see; null: all of the instance. A person acts in one at a time, the one of the request's ids. */
  readonly organizationId: string | null;
  readonly origin: Origin;
  readonly person: Person | null;
}

/** No organization's id: what a person who belongs to none, or to several, is bound to until a request names one. */
export const nowhere = '00000000-0000-0000-0000-000000000000';

/** Whether the caller may know that something of this organization exists. */
export function canSee(caller: Caller, organizationId: string): boolean {
  return caller.organizationId === null || caller.organizationId === organizationId;
}

/** Whether it has all rights of its organization, so that it may give any of them away. */
export function isOwner({ access }: Caller): boolean {
  return access.kind === 'scope' ? access.scope === 'ADMIN' : access.kind === 'role' && access.role === 'OWNER';
}
