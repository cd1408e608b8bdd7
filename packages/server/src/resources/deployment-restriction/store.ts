import { statement } from '@davit/db';

export interface RestrictionRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly mode: 'EXCLUDE' | 'MATCH';
  readonly type: 'PATH';
  readonly value: string;
}

const columns = 'id, created_at, updated_at, mode, type, value';

/** Parameters: service, type, organization of the caller. */
export const findService = statement<{ id: string }>(
  'restriction_find_service',
  'select id from service where id = $1 and type = $2 and ($3::uuid is null or organization_id = $3)',
);

export const listRestrictions = statement<RestrictionRow>(
  'restriction_list',
  `select ${columns} from deployment_restriction where service_id = $1 order by created_at, id`,
);

export const createRestriction = statement<RestrictionRow>(
  'restriction_create',
  `insert into deployment_restriction (id, organization_id, service_id, mode, type, value) values ($1, $2, $3, $4, $5, $6)
   returning ${columns}`,
);

export const editRestriction = statement<RestrictionRow>(
  'restriction_edit',
  `update deployment_restriction set mode = $3, type = $4, value = $5, updated_at = clock_timestamp()
    where id = $1 and service_id = $2 returning ${columns}`,
);

export const deleteRestriction = statement(
  'restriction_delete',
  'delete from deployment_restriction where id = $1 and service_id = $2',
);

/** Copies restrictions from the services `$1` to the services `$2`. Both lists have the same order. */
export const copyRestrictions = statement(
  'restriction_copy',
  `insert into deployment_restriction (id, organization_id, service_id, mode, type, value)
   select gen_random_uuid(), restriction.organization_id, copy.id, restriction.mode, restriction.type, restriction.value
     from unnest($1::uuid[], $2::uuid[]) as copy (of, id) join deployment_restriction as restriction on restriction.service_id = copy.of
    order by restriction.created_at, restriction.id`,
);
