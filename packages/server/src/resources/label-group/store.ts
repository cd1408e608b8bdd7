import { statement } from '@davit/db';

export interface LabelGroupRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly name: string;
  readonly labels: { key: string; value: string; propagate_to_cloud_provider: boolean }[];
}

const columns = 'id, created_at, updated_at, name, labels';
/** Parameters: organization, organization of the caller. */
const visible = `organization_id = $1 and ($2::uuid is null or organization_id = $2)`;

export const labelGroupList = statement<LabelGroupRow & { associated_items_count: number }>(
  'label_group_list',
  `select ${columns}, (select count(*) from service where service.spec ? 'labels_groups'
      and service.spec -> 'labels_groups' ? label_group.id::text)
    + (select count(*) from cluster where cluster.organization_id = $1 and cluster.spec -> 'labels_groups' ? label_group.id::text)
      as associated_items_count
     from label_group where ${visible} order by created_at, id`,
);

export const labelGroupRead = statement<LabelGroupRow>(
  'label_group_read',
  `select ${columns} from label_group where ${visible} and id = $3`,
);

/** Parameters: those of `visible`, then id, name, labels. */
export const labelGroupCreate = statement<LabelGroupRow>(
  'label_group_create',
  `insert into label_group (id, organization_id, name, labels)
   select $3, organization.id, $4, $5::jsonb from organization
    where organization.id = $1 and ($2::uuid is null or organization.id = $2)
   returning ${columns}`,
);

/** Parameters: as for `labelGroupCreate`. */
export const labelGroupEdit = statement<LabelGroupRow>(
  'label_group_edit',
  `update label_group set name = $4, labels = $5::jsonb, updated_at = clock_timestamp()
    where ${visible} and id = $3 returning ${columns}`,
);

/** Locks the group, so that no other transaction can start to use it. */
export const labelGroupLock = statement<{ id: string }>(
  'label_group_lock',
  `select id from label_group where ${visible} and id = $3 for update`,
);

export const labelGroupDelete = statement('label_group_delete', 'delete from label_group where id = $1');

/** Parameter: id of the group. Returns the clusters that have the group, oldest first. */
export const labelGroupClusters = statement<{ readonly id: string; readonly name: string }>(
  'label_group_clusters',
  `select cluster.id, cluster.name from cluster join label_group on label_group.organization_id = cluster.organization_id
    where label_group.id = $1 and cluster.spec -> 'labels_groups' ? label_group.id::text order by cluster.created_at, cluster.id`,
);

/** Parameter: ids. */
export const labelGroupsRead = statement<LabelGroupRow>(
  'label_groups_read',
  `select ${columns} from label_group where id = any($1::uuid[])`,
);

/**
 * Parameters: organization, ids. The rows are sorted, so that two transactions that lock the same rows wait and do not
 * deadlock.
 */
export const labelGroupsShare = statement<{ id: string }>(
  'label_groups_share',
  `select id from label_group where organization_id = $1 and id = any($2::uuid[]) order by id for key share`,
);
