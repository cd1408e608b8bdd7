import { randomUUID } from 'node:crypto';
import type { Clock } from '@davit/base';
import type { Queryable } from '@davit/db';
import type { JWTPayload } from 'jose';
import type { Access, Person } from './caller.ts';
import { comparableEmail } from './email.ts';
import type { IssuedClaims } from './issuers.ts';
import { personBySubject, personSeen, type MembershipValue, type PersonRow } from './store.ts';

/** Minimum milliseconds between two updates of a person's last activity. */
const activityMilliseconds = 60_000;

interface Profile {
  readonly email: string | null;
  readonly email_verified: boolean;
  readonly name: string | null;
  readonly nickname: string | null;
  readonly first_name: string | null;
  readonly last_name: string | null;
  readonly picture_url: string | null;
}

/** Returns the person of these claims; creates the person on the first request. */
export async function personOf(database: Queryable, clock: Clock, issued: IssuedClaims): Promise<PersonRow> {
  const { issuer, subject } = issued;
  const profile = profileOf(issued.claims);
  const known = await database.maybe(personBySubject, [issuer, subject]);
  if (known !== undefined && isCurrent(known, profile, clock)) return known;
  const { email, email_verified, name, nickname, first_name, last_name, picture_url } = profile;
  await database.run(personSeen, [
    randomUUID(),
    issuer,
    subject,
    email,
    email_verified,
    name,
    nickname,
    first_name,
    last_name,
    picture_url,
  ]);
  return database.one(personBySubject, [issuer, subject]);
}

function isCurrent(row: PersonRow, profile: Profile, clock: Clock): boolean {
  if (clock.now().getTime() - Date.parse(row.last_activity_at) > activityMilliseconds) return false;
  if (profile.email !== null && row.email_verified !== profile.email_verified) return false;
  const texts = ['email', 'name', 'nickname', 'first_name', 'last_name', 'picture_url'] as const;
  return texts.every((key) => profile[key] === null || profile[key] === row[key]);
}

const longestText = 500;

function profileOf(claims: JWTPayload): Profile {
  const text = (claim: string): string | null => {
    const value = claims[claim];
    // PostgreSQL cannot store NUL.
    const kept = typeof value === 'string' ? value.replaceAll('\0', '').trim().slice(0, longestText) : '';
    return kept === '' ? null : kept.toWellFormed();
  };
  const email = text('email');
  const verified = claims['email_verified'];
  return {
    email,
    // Some issuers send the boolean as text. Without the claim, an address counts as unverified.
    email_verified: email !== null && (verified === true || verified === 'true'),
    name: text('name'),
    nickname: text('nickname') ?? text('preferred_username'),
    first_name: text('given_name'),
    last_name: text('family_name'),
    picture_url: text('picture'),
  };
}

export function toPerson(row: PersonRow, sessionId: string | null): Person {
  return Object.freeze({
    id: row.id,
    verifiedEmail: row.email_verified && row.email !== null ? comparableEmail(row.email) : null,
    memberships: new Map(row.memberships.map((one) => [one.organizationId, accessOf(one)])),
    sessionId,
  });
}

/** Returns the name of a person in histories and lists. */
export function personName(row: Pick<PersonRow, 'name' | 'nickname' | 'email' | 'subject'>): string {
  return row.name ?? row.nickname ?? row.email ?? row.subject;
}

function accessOf({ role, rights }: MembershipValue): Access {
  if (role !== null) return { kind: 'role', role };
  if (rights !== null) return { kind: 'custom', rights };
  return { kind: 'none' };
}
