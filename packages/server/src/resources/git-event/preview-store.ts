import { statement } from '@davit/db';

export interface PreviewRow {
  readonly id: string;
  readonly organization_id: string;
  readonly source_environment_id: string;
  /** Null: the environment was deleted. */
  readonly environment_id: string | null;
  readonly environment_name: string | null;
  readonly state: 'OPEN' | 'CLOSING';
  readonly last_commit_id: string | null;
  readonly services: Readonly<Record<string, string>>;
}

const columns = `preview.id, preview.organization_id, preview.source_environment_id, preview.environment_id,
  (select name from environment where environment.id = preview.environment_id) as environment_name, preview.state,
  preview.last_commit_id, preview.services`;

/** Parameters: organization, repository, request. Returns the previews that are not yet removed. */
export const previewsOf = statement<PreviewRow>(
  'git_previews_of_request',
  `select ${columns} from git_preview as preview
    where organization_id = $1 and repository = $2 and request = $3 and state <> 'CLOSED' order by created_at`,
);

/**
 * Parameter: environment. Locks its previews until the transaction ends, so that a later statement can count them: a
 * statement that waits for a lock counts what there was before it waited.
 */
export const previewsLock = statement(
  'git_previews_lock',
  `select pg_advisory_xact_lock(hashtextextended('previews of ' || $1::text, 0))`,
);

/** Parameter: environment. */
export const countPreviews = statement<{ count: number }>(
  'git_preview_count',
  `select count(*) as count from git_preview where source_environment_id = $1 and state <> 'CLOSED' and environment_id is not null`,
);

/**
 * Parameters: id, organization, environment, repository, request. Returns no row if another process is creating the
 * preview.
 */
export const beginPreview = statement<{ id: string }>(
  'git_preview_begin',
  `insert into git_preview (id, organization_id, source_environment_id, repository, request, state) values ($1, $2, $3, $4, $5, 'OPEN')
   on conflict (source_environment_id, repository, request) where state <> 'CLOSED' do nothing returning id`,
);

/** Parameters: preview, environment, its services, commit, hours until the preview expires (0: never). */
export const keepPreview = statement(
  'git_preview_keep',
  `update git_preview set environment_id = $2, services = $3::jsonb, last_commit_id = $4,
          expires_at = clock_timestamp() + make_interval(hours => nullif($5::integer, 0))
    where id = $1 and state = 'OPEN'`,
);

/** Parameters: service, members of its spec. */
export const patchService = statement(
  'git_preview_patch_service',
  'update service set spec = spec || $2::jsonb, updated_at = clock_timestamp() where id = $1',
);

/** Parameters: preview, reason. */
export const closePreview = statement(
  'git_preview_close',
  `update git_preview set state = 'CLOSING', why_closed = $2, due_at = clock_timestamp() where id = $1 and state = 'OPEN'`,
);

/** Closes previews that have expired. */
export const expirePreviews = statement(
  'git_previews_expire',
  `update git_preview set state = 'CLOSING', why_closed = 'EXPIRED', due_at = clock_timestamp()
    where state = 'OPEN' and expires_at <= clock_timestamp()`,
);

/**
 * Takes a preview to remove, for a lease that grows from a second to ten minutes. A failed removal is retried until the
 * preview is gone.
 */
export const takeClosing = statement<
  Pick<PreviewRow, 'id' | 'organization_id' | 'environment_id'> & { readonly attempts: number }
>(
  'git_preview_take',
  `update git_preview
      set attempts = attempts + 1, due_at = clock_timestamp() + make_interval(secs => least(600, power(2, least(attempts, 10))))
    where id = (select id from git_preview where state = 'CLOSING' and due_at <= clock_timestamp()
                 order by due_at limit 1 for update skip locked)
   returning id, organization_id, environment_id, attempts`,
);

export const endPreview = statement(
  'git_preview_end',
  `update git_preview set state = 'CLOSED', due_at = null where id = $1 and environment_id is null`,
);

/** Parameter: days. */
export const trimPreviews = statement(
  'git_previews_trim',
  `delete from git_preview where state = 'CLOSED' and created_at < clock_timestamp() - make_interval(days => $1)`,
);
