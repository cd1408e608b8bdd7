import { statement } from '@davit/db';

const key = `git_repository_key(spec #>> '{git_repository,url}', spec #>> '{git_repository,provider}')`;

/**
 * Inserts a row for each repository that a service with auto_deploy follows. A push to a repository of this
 * installation deploys by itself. New rows are due at once.
 */
export const findRepositories = statement(
  'git_poll_find',
  `insert into git_repository (organization_id, repository)
   select distinct organization_id, ${key} from service
    where spec #>> '{git_repository,url}' not like 'davit:%'
      and coalesce((spec #>> '{auto_deploy_config,auto_deploy}')::boolean, (spec ->> 'auto_deploy')::boolean, false)
   on conflict (organization_id, repository) do nothing`,
);

export interface PolledRow {
  readonly organization_id: string;
  readonly repository: string;
  /** The newest commits of the followed branches. Null: the repository was never polled. */
  readonly heads: Readonly<Record<string, string>> | null;
  readonly failures: number;
  /** Whether the webhook works, which means that its latest delivery had a valid signature. */
  readonly has_webhook: boolean;
}

/** Takes the repository that has been due longest, and leases it for two minutes. */
export const takeRepository = statement<PolledRow>(
  'git_poll_take',
  `update git_repository set next_poll_at = clock_timestamp() + interval '2 minutes'
    where (organization_id, repository) = (
      select organization_id, repository from git_repository where next_poll_at <= clock_timestamp()
       order by next_poll_at limit 1 for update skip locked)
   returning organization_id, repository, heads, failures,
             delivered_at is not null and (refused_at is null or delivered_at > refused_at) as has_webhook`,
);

/** Parameters: organization, repository, heads, seconds until the next poll. */
export const endPoll = statement(
  'git_poll_end',
  `update git_repository set heads = $3::jsonb, polled_at = clock_timestamp(), failures = 0, failure = null,
          next_poll_at = clock_timestamp() + make_interval(secs => $4)
    where organization_id = $1 and repository = $2`,
);

/** Parameters: organization, repository, reason, seconds until the next poll. */
export const failPoll = statement(
  'git_poll_fail',
  `update git_repository set failures = failures + 1, failure = $3, next_poll_at = clock_timestamp() + make_interval(secs => $4)
    where organization_id = $1 and repository = $2`,
);

/** Parameters: organization, repository, branch, commit. Returns whether the push is in the ledger. */
export const isKnown = statement<{ known: boolean }>(
  'git_poll_known',
  `select exists (select 1 from git_event where organization_id = $1 and repository = $2 and kind = 'PUSH'
                     and event ->> 'branch' = $3 and event ->> 'after' = $4) as known`,
);
