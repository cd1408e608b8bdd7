import type { AnnotationScope } from '@davit/contract';
import { statement } from '@davit/db';

export interface AnnotationGroupRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly name: string;
  readonly annotations: { key: string; value: string }[];
  readonly scopes: AnnotationScope[];
}

const columns = 'id, created_at, updated_at, name, annotations, scopes';
/** Parameters: organization, organization of the caller. */
const visible = `organization_id = $1 and ($2::uuid is null or organization_id = $2)`;

export const annotationGroupList = statement<AnnotationGroupRow & { associated_items_count: number }>(
  'annotation_group_list',
  `select ${columns}, (select count(*) from service where service.spec ? 'annotations_groups'
      and service.spec -> 'annotations_groups' ? annotation_group.id::text) as associated_items_count
     from annotation_group where ${visible} order by created_at, id`,
);

export const annotationGroupRead = statement<AnnotationGroupRow>(
  'annotation_group_read',
  `select ${columns} from annotation_group where ${visible} and id = $3`,
);

/** Parameters: those of `visible`, then id, name, annotations, scopes. */
export const annotationGroupCreate = statement<AnnotationGroupRow>(
  'annotation_group_create',
  `insert into annotation_group (id, organization_id, name, annotations, scopes)
   select $3, organization.id, $4, $5::jsonb, $6 from organization
    where organization.id = $1 and ($2::uuid is null or organization.id = $2)
   returning ${columns}`,
);

/** Parameters: as for `annotationGroupCreate`. */
export const annotationGroupEdit = statement<AnnotationGroupRow>(
  'annotation_group_edit',
  `update annotation_group set name = $4, annotations = $5::jsonb, scopes = $6, updated_at = clock_timestamp()
    where ${visible} and id = $3 returning ${columns}`,
);

/** Locks the group, so that no other transaction can start to use it. */
export const annotationGroupLock = statement<{ id: string }>(
  'annotation_group_lock',
  `select id from annotation_group where ${visible} and id = $3 for update`,
);

export const annotationGroupDelete = statement('annotation_group_delete', 'delete from annotation_group where id = $1');

/** Parameter: ids. */
export const annotationGroupsRead = statement<AnnotationGroupRow>(
  'annotation_groups_read',
  `select ${columns} from annotation_group where id = any($1::uuid[])`,
);

/**
 * Parameters: organization, ids. The rows are sorted, so that two transactions that lock the same rows wait and do not
 * deadlock.
 */
export const annotationGroupsShare = statement<{ id: string }>(
  'annotation_groups_share',
  `select id from annotation_group where organization_id = $1 and id = any($2::uuid[]) order by id for key share`,
);
