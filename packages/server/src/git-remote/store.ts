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
