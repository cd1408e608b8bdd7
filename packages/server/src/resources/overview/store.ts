import type { CloudProvider, EnvironmentMode } from '@davit/contract';
import { statement } from '@davit/db';

export interface EnvironmentRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly name: string;
  readonly mode: EnvironmentMode;
  readonly organization_id: string;
  readonly project_id: string;
}

/** Parameter `$2`: the caller's organization, or null if the caller sees all organizations. */
const visible = (table: string): string => `($2::uuid is null or ${table}.organization_id = $2)`;

export const environmentsOfOrganization = statement<EnvironmentRow>(
  'overview_environments',
  `select id, created_at, updated_at, name, mode, organization_id, project_id from environment
    where organization_id = $1 and ${visible('environment')} order by created_at, id`,
);

export interface ServiceRow {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly icon_uri: string;
  readonly type: string;
  readonly project_id: string;
  readonly project_name: string;
  readonly environment_id: string;
  readonly environment_name: string;
  readonly cluster_id: string;
  readonly is_cron: boolean;
}

/** Parameters `$3`, `$4`, `$5`: project, environment, cluster to which the result is limited. Null: no limit. */
export const servicesOfOrganization = statement<ServiceRow>(
  'overview_services',
  `select service.id, service.name, coalesce(service.spec->>'description', '') as description,
          coalesce(service.spec->>'icon_uri', '') as icon_uri, service.type, service.project_id, project.name as project_name,
          service.environment_id, environment.name as environment_name, environment.cluster_id,
          coalesce(jsonb_typeof(service.spec #> '{schedule,cronjob}') = 'object', false) as is_cron
     from service
     join environment on environment.id = service.environment_id
     join project on project.id = service.project_id
    where service.organization_id = $1 and ${visible('service')}
      and ($3::uuid is null or service.project_id = $3)
      and ($4::uuid is null or service.environment_id = $4)
      and ($5::uuid is null or environment.cluster_id = $5)
    order by service.created_at, service.id`,
);

export const projectCounts = statement<{
  readonly id: string;
  readonly service_total_number: number;
  readonly environment_total_number: number;
}>(
  'overview_project_counts',
  `select id, (select count(*) from service where service.project_id = project.id) as service_total_number,
          (select count(*) from environment where environment.project_id = project.id) as environment_total_number
     from project where organization_id = $1 and ${visible('project')} order by created_at, id`,
);

export interface CountedEnvironmentRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly name: string;
  readonly mode: EnvironmentMode;
  readonly service_count: number;
  readonly cluster_id: string;
  readonly cluster_name: string;
  readonly cluster_cloud_provider: CloudProvider;
  readonly cluster_is_demo: boolean;
}

export const countedEnvironments = statement<CountedEnvironmentRow>(
  'overview_counted_environments',
  `select environment.id, environment.created_at, environment.updated_at, environment.name, environment.mode,
          (select count(*) from service where service.environment_id = environment.id) as service_count,
          cluster.id as cluster_id, cluster.name as cluster_name,
          cluster.cloud_provider as cluster_cloud_provider, cluster.is_demo as cluster_is_demo
     from environment join cluster on cluster.id = environment.cluster_id
    where environment.project_id = $1 and ${visible('environment')} order by environment.created_at, environment.id`,
);

export interface PlacedEnvironmentRow {
  readonly id: string;
  readonly name: string;
  readonly mode: EnvironmentMode;
  readonly project_id: string;
  readonly project_name: string;
  readonly cluster_id: string;
  readonly cluster_name: string;
}

export const placedEnvironments = statement<PlacedEnvironmentRow>(
  'overview_placed_environments',
  `select environment.id, environment.name, environment.mode, project.id as project_id, project.name as project_name,
          cluster.id as cluster_id, cluster.name as cluster_name
     from environment join project on project.id = environment.project_id join cluster on cluster.id = environment.cluster_id
    where environment.organization_id = $1 and ${visible('environment')} order by environment.created_at, environment.id`,
);
