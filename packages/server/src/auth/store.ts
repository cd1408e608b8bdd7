import type { BuiltInRole, EnvironmentMode, Scope } from '@davit/contract';
import { accessChannel, statement } from '@davit/db';
import type { CustomRights } from './caller.ts';

/** SQL for the rights of a custom role as one JSON value; null if there is no role. */
const rightsOf = (role: string): string => `case when ${role} is null then null else (
  select jsonb_build_object('id', custom_role.id, 'name', custom_role.name,
    'clusters', coalesce((select jsonb_object_agg(cluster_id, permission) from custom_role_cluster
       where custom_role_id = custom_role.id), '{}'),
    'projects', coalesce((select jsonb_object_agg(project_id, jsonb_build_object('isAdmin', is_admin, 'permissions', permissions))
       from custom_role_project where custom_role_id = custom_role.id), '{}'))
    from custom_role where custom_role.id = ${role}) end`;

export interface TokenRow {
  readonly id: string;
  readonly organization_id: string | null;
  readonly name: string;
  readonly scope: Scope | null;
  readonly role: BuiltInRole | null;
  readonly rights: CustomRights | null;
  readonly expires_at: string | null;
}

export const tokenByHash = statement<TokenRow>(
  'token_by_hash',
  `select id, organization_id, name, scope, role, ${rightsOf('api_token.custom_role_id')} as rights, expires_at
     from api_token where token_hash = $1`,
);

export interface MembershipValue {
  readonly organizationId: string;
  readonly role: BuiltInRole | null;
  readonly rights: CustomRights | null;
}

export interface PersonRow {
  readonly id: string;
  readonly issuer: string;
  readonly subject: string;
  readonly email: string | null;
  readonly email_verified: boolean;
  readonly name: string | null;
  readonly nickname: string | null;
  readonly first_name: string | null;
  readonly last_name: string | null;
  readonly picture_url: string | null;
  readonly last_activity_at: string;
  readonly memberships: readonly MembershipValue[];
}

const personColumns = `person.id, person.issuer, person.subject, person.email, person.email_verified, person.name, person.nickname,
  person.first_name, person.last_name, person.picture_url, person.last_activity_at,
  coalesce((select jsonb_agg(jsonb_build_object('organizationId', organization.id,
      'role', case when organization.owner_id = person.id then 'OWNER' else membership.role end,
      'rights', case when organization.owner_id = person.id then null else ${rightsOf('membership.custom_role_id')} end)
      order by organization.created_at, organization.id)
     from membership join organization on organization.id = membership.organization_id
    where membership.person_id = person.id), '[]') as memberships`;

export const personBySubject = statement<PersonRow>(
  'person_by_subject',
  `select ${personColumns} from person where issuer = $1 and subject = $2`,
);

/**
 * Inserts a person, or updates a person whose claims changed. $4 is the e-mail address, null if the token has none:
 * then the known address is kept together with its verification, since access tokens of many issuers omit the address.
 */
export const personSeen = statement(
  'person_seen',
  `insert into person (id, issuer, subject, email, email_verified, name, nickname, first_name, last_name, picture_url)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
   on conflict (issuer, subject) do update
      set email = coalesce(excluded.email, person.email),
          email_verified = case when excluded.email is null then person.email_verified else excluded.email_verified end,
          name = coalesce(excluded.name, person.name),
          nickname = coalesce(excluded.nickname, person.nickname),
          first_name = coalesce(excluded.first_name, person.first_name),
          last_name = coalesce(excluded.last_name, person.last_name),
          picture_url = coalesce(excluded.picture_url, person.picture_url),
          last_activity_at = clock_timestamp(),
          updated_at = clock_timestamp()`,
);

export const personBySession = statement<PersonRow>(
  'person_by_session',
  `select ${personColumns} from session join person on person.id = session.person_id
    where session.id = $1 and session.person_id = $2 and session.expires_at > clock_timestamp()`,
);

export const sessionKeySet = statement('session_key_set', 'update installation set session_key = $1 where session_key is null');
export const sessionKeyRead = statement<{ sealed: Buffer }>('session_key_read', 'select session_key as sealed from installation');

/** Days without a request after which the session of a browser ends. */
const idleDays = 7;

export interface CookieSessionRow extends PersonRow {
  readonly session_id: string;
  readonly session_expires_at: string;
  readonly session_last_used_at: string;
}

export const personByCookie = statement<CookieSessionRow>(
  'person_by_cookie',
  `select ${personColumns}, session.id as session_id, session.expires_at as session_expires_at,
          session.last_used_at as session_last_used_at
     from session join person on person.id = session.person_id
    where session.token_hash = $1 and session.expires_at > clock_timestamp()
      and session.last_used_at > clock_timestamp() - make_interval(days => ${idleDays})`,
);

export const sessionUsed = statement(
  'session_used',
  `with seen as (update person set last_activity_at = clock_timestamp() where id = $2)
   update session set last_used_at = clock_timestamp() where id = $1`,
);

/** Creates a session and deletes all expired sessions, so that the table stays small. */
export const sessionCreate = statement(
  'session_create',
  `with ended as (delete from session where expires_at < clock_timestamp())
   insert into session (id, person_id, expires_at, token_hash, user_agent, address) values ($1, $2, $3, $4, $5, $6)`,
);

export interface SessionRow {
  readonly id: string;
  readonly created_at: string;
  readonly last_used_at: string;
  readonly expires_at: string;
  readonly user_agent: string | null;
  readonly address: string | null;
}

export const sessionList = statement<SessionRow>(
  'session_list',
  `select id, created_at, last_used_at, expires_at, user_agent, address from session
    where person_id = $1 and expires_at > clock_timestamp()
      and (token_hash is null or last_used_at > clock_timestamp() - make_interval(days => ${idleDays}))
    order by last_used_at desc, id`,
);

/** Deletes the sessions of a person ($1): the one with the id $2, or, if $2 is null, all but $3. */
export const sessionsDelete = statement(
  'sessions_delete',
  `with gone as (
     delete from session where person_id = $1 and ($2::uuid is null or id = $2) and ($3::uuid is null or id <> $3) returning id
   )
   select pg_notify('${accessChannel}', id::text) from gone`,
);

export const sessionDeleteByHash = statement(
  'session_delete_by_hash',
  `with gone as (delete from session where token_hash = $1 returning id)
   select pg_notify('${accessChannel}', id::text) from gone`,
);
export const sessionDelete = statement(
  'session_delete',
  `with gone as (delete from session where id = $1 returning id) select pg_notify('${accessChannel}', id::text) from gone`,
);

export interface LocationRow {
  readonly organization_id: string;
  readonly project_id?: string;
  readonly mode?: EnvironmentMode;
  readonly cluster_id?: string;
}

const ofEnvironment = 'environment.organization_id, environment.project_id, environment.mode, environment.cluster_id';

/**
 * Returns the organization and location of a resource. Used if a scope is not sufficient to decide: to choose between
 * 403 and 404, for custom roles, and for people with several organizations. For a resource in an environment, the
 * statement must return project and mode, otherwise custom roles cannot see the resource.
 */
export const organizationOf = {
  organization: statement<LocationRow>('place_of_organization', 'select id as organization_id from organization where id = $1'),
  project: statement<LocationRow>('place_of_project', 'select organization_id, id as project_id from project where id = $1'),
  environment: statement<LocationRow>('place_of_environment', `select ${ofEnvironment} from environment where id = $1`),
  cluster: statement<LocationRow>('place_of_cluster', 'select organization_id, id as cluster_id from cluster where id = $1'),
  service: statement<LocationRow>(
    'place_of_service',
    `select ${ofEnvironment} from service join environment on environment.id = service.environment_id where service.id = $1`,
  ),
  deploymentStage: statement<LocationRow>(
    'place_of_stage',
    `select ${ofEnvironment} from deployment_stage join environment on environment.id = deployment_stage.environment_id
      where deployment_stage.id = $1`,
  ),
  invitation: statement<LocationRow>('place_of_invitation', 'select organization_id from invitation where id = $1'),
  variable: statement<LocationRow>(
    'place_of_variable',
    `select variable.organization_id, coalesce(variable.project_id, environment.project_id) as project_id, environment.mode,
            environment.cluster_id
       from variable
       left join service on service.id = variable.service_id
       left join environment on environment.id = coalesce(variable.environment_id, service.environment_id)
      where variable.id = $1`,
  ),
} as const;

/** Notifies all processes that a membership or role changed. In a transaction, the notification is sent on commit. */
export const accessChanged = statement('access_changed', `select pg_notify('${accessChannel}', '')`);
