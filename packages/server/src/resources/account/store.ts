import { statement } from '@davit/db';

export interface AccountRow {
  readonly id: string;
  readonly created_at: string;
  readonly nickname: string | null;
  readonly first_name: string | null;
  readonly last_name: string | null;
  readonly profile_picture_url: string | null;
  readonly communication_email: string | null;
}

const columns = `id, created_at, coalesce(nickname, name) as nickname, first_name, last_name,
  picture_url as profile_picture_url, coalesce(communication_email, email) as communication_email`;

export const accountRead = statement<AccountRow>('account_read', `select ${columns} from person where id = $1`);

/** Parameter `$2`: null leaves the value unchanged. */
export const accountEdit = statement<AccountRow>(
  'account_edit',
  `update person set communication_email = coalesce($2, communication_email), updated_at = clock_timestamp()
    where id = $1 returning ${columns}`,
);
