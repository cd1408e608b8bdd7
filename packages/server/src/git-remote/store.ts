import type { Origin } from '@davit/contract';
import { statement } from '@davit/db';

/** An application that is pushed to. */
export interface PushedRow {
  readonly id: string;
  readonly name: string;
  readonly organization_id: string;
  readonly project_id: string;
  readonly environment_id: string;
  readonly url: string;
  readonly branch: string;
}

const named = (table: string, parameter: string): string =>
  `(${table}.id::text = lower(${parameter}) or lower(${table}.name) = lower(${parameter}))`;

/**
 * Parameters: names or ids of project, environment and service, and the only organization to search in, or null.
 * Returns at most two applications: names are unique in an organization only.
 */
export const pushedApplications = statement<PushedRow>(
  'git_remote_find',
  `select service.id, service.name, service.organization_id, service.environment_id, environment.project_id,
          service.spec #>> '{git_repository,url}' as url, coalesce(service.spec #>> '{git_repository,branch}', 'main') as branch
     from service
     join environment on environment.id = service.environment_id
     join project on project.id = environment.project_id
    where ${named('project', '$1')} and ${named('environment', '$2')} and ${named('service', '$3')}
      and service.type = 'APPLICATION' and ($4::uuid[] is null or service.organization_id = any ($4))
    limit 2`,
);

/**
 * Parameters: URL, branch, and the application that is pushed to. Returns the other applications that deploy the same
 * branch of the repository, such as clones.
 */
export const sharers = statement<{ id: string; name: string }>(
  'git_remote_sharers',
  `select id, name from service where spec #>> '{git_repository,url}' = $1
      and coalesce(spec #>> '{git_repository,branch}', 'main') = $2 and id <> $3 and type = 'APPLICATION'`,
);

/** Returns the URLs of all repositories that this installation keeps. */
export const ownRepositories = statement<{ url: string }>(
  'git_remote_repositories',
  `select distinct spec #>> '{git_repository,url}' as url from service where spec #>> '{git_repository,url}' like 'davit:%'`,
);

export interface NewPush {
  readonly id: string;
}

/** Parameters: service, commit, actor, name, origin. Records a push whose branch is about to change. */
export const addPush = statement<NewPush>(
  'git_push_add',
  'insert into git_push (service_id, commit_id, actor, name, origin) values ($1, $2, $3, $4, $5) returning id',
);

/** Parameter: push. Removes a push whose deployment was requested, or that changed nothing. */
export const removePush = statement('git_push_remove', 'delete from git_push where id = $1');

/** Parameter: seconds. Returns the pushes that are older, in the order of their arrival. */
export const oldPushes = statement<NewPush>(
  'git_push_old',
  `select id from git_push where created_at <= clock_timestamp() - $1 * interval '1 second' order by created_at, id`,
);

/** A push whose process has died. */
export interface LostPush {
  readonly id: string;
  readonly service_id: string;
  readonly organization_id: string;
  readonly environment_id: string;
  readonly commit_id: string;
  readonly actor: string;
  readonly name: string;
  readonly origin: Origin;
  readonly url: string | null;
  readonly branch: string;
  /** Whether the push cannot be under way any more. */
  readonly has_ended: boolean;
}

/** Parameters: push, seconds that a push may last. Locks the push; returns no row if another process has locked it. */
export const lockPush = statement<LostPush>(
  'git_push_lock',
  `select git_push.id, git_push.service_id, service.organization_id, service.environment_id, git_push.commit_id, git_push.actor,
          git_push.name, git_push.origin, service.spec #>> '{git_repository,url}' as url,
          coalesce(service.spec #>> '{git_repository,branch}', 'main') as branch,
          git_push.created_at <= clock_timestamp() - $2 * interval '1 second' as has_ended
     from git_push join service on service.id = git_push.service_id
    where git_push.id = $1
      for update of git_push skip locked`,
);
