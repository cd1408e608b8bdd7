import { statement } from '@davit/db';

export interface ClusterRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly organization_id: string;
  readonly name: string;
  readonly description: string;
  readonly region: string;
  readonly cloud_provider: 'ON_PREMISE';
  readonly driver: string;
  readonly is_default: boolean;
  readonly is_demo: boolean;
  readonly production: boolean;
}

const columns = `id, created_at, updated_at, organization_id, name, description, region, cloud_provider, driver, is_default, is_demo,
  production`;

export const clusterList = statement<ClusterRow>(
  'cluster_list',
  `select ${columns} from cluster
    where organization_id = $1 and ($2::uuid is null or organization_id = $2) order by created_at, id`,
);

export const clusterRead = statement<ClusterRow>(
  'cluster_read',
  `select ${columns} from cluster where organization_id = $1 and ($2::uuid is null or organization_id = $2) and id = $3`,
);
