import type { CloudProvider } from '@davit/contract';
import { statement } from '@davit/db';

/** Parameters: environment, organization of the caller. Returns the vendor of its cluster. */
export const providerOfEnvironment = statement<{ readonly cloud_provider: CloudProvider }>(
  'lifecycle_template_provider',
  `select cluster.cloud_provider from environment
     join project on project.id = environment.project_id
     join cluster on cluster.id = environment.cluster_id
    where environment.id = $1 and ($2::uuid is null or project.organization_id = $2)`,
);
