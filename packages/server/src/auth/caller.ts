import type { BuiltInRole, ClusterPermission, EnvironmentMode, Origin, ProjectPermission, Scope } from '@davit/contract';

/**
 * The rights of a custom role. The default is VIEWER for a cluster that is not listed, and NO_ACCESS for a project that
 * is not listed.
 */
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

/** The rights of a caller in its organization. `none`: a person who is not a member of any. */
export type Access =
  | { readonly kind: 'scope'; readonly scope: Scope }
  | { readonly kind: 'role'; readonly role: BuiltInRole }
  | { readonly kind: 'custom'; readonly rights: CustomRights }
  | { readonly kind: 'none' };

/** A person who has signed in. */
export interface Person {
  readonly id: string;
  /** Address in the form of `comparableEmail`; null unless the issuer states that it is verified. */
  readonly verifiedEmail: string | null;
  /** Access by organization, the oldest organization first. */
  readonly memberships: ReadonlyMap<string, Access>;
  /** Id of the session of the request; null: the request has an issuer's token. */
  readonly sessionId: string | null;
}

/** The authenticated sender of a request. */
export interface Caller {
  /** Stable id of the token or person; requests of the same actor may be merged in the queue. */
  readonly actor: string;
  /** Name for display: the token's or the person's. */
  readonly name: string;
  readonly access: Access;
  /**
   * The only organization that the caller may see; null: the whole instance. A person acts in one organization at a
   * time, the one of the requested resource.
   */
  readonly organizationId: string | null;
  readonly origin: Origin;
  readonly person: Person | null;
}

/**
 * Placeholder for the organization of a person who belongs to none or to several, until the request names one. No
 * organization has this id.
 */
export const nowhere = '00000000-0000-0000-0000-000000000000';

/** The sender of a request that needs no token. */
export const anonymous: Caller = Object.freeze<Caller>({
  actor: 'anonymous',
  name: 'anonymous',
  access: { kind: 'none' },
  organizationId: nowhere,
  origin: 'CONSOLE',
  person: null,
});

/** Returns whether the caller may know that a resource of this organization exists. */
export function canSee(caller: Caller, organizationId: string): boolean {
  return caller.organizationId === null || caller.organizationId === organizationId;
}

/** Returns whether the caller has all rights in its organization, so that it may grant each of them. */
export function isOwner({ access }: Caller): boolean {
  return access.kind === 'scope' ? access.scope === 'ADMIN' : access.kind === 'role' && access.role === 'OWNER';
}
