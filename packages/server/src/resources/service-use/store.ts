import { statement } from '@davit/db';

/**
 * A service that uses a record, with its cluster, project and environment. `item_type` divides jobs into LIFECYCLE and
 * CRON, as the contract does.
 */
export interface ServiceUse {
  readonly cluster_id: string;
  readonly cluster_name: string;
  readonly project_id: string;
  readonly project_name: string;
  readonly environment_id: string;
  readonly environment_name: string;
  readonly service_id: string;
  readonly service_name: string;
  readonly item_type: 'APPLICATION' | 'DATABASE' | 'CONTAINER' | 'LIFECYCLE' | 'CRON' | 'HELM' | 'TERRAFORM';
}

// Each condition matches the expression of its index.
function usesWhere(name: string, condition: string): ReturnType<typeof statement<ServiceUse>> {
  return statement<ServiceUse>(
    `uses_of_${name}`,
    `select cluster.id as cluster_id, cluster.name as cluster_name, project.id as project_id, project.name as project_name,
            environment.id as environment_id, environment.name as environment_name, service.id as service_id,
            service.name as service_name,
            case when service.type <> 'JOB' then service.type
                 when jsonb_typeof(service.spec #> '{schedule,cronjob}') = 'object' then 'CRON'
                 else 'LIFECYCLE' end as item_type
       from service
       join environment on environment.id = service.environment_id
       join project on project.id = service.project_id
       join cluster on cluster.id = environment.cluster_id
      where ${condition} order by service.created_at, service.id`,
  );
}

/** Statements that find the services using a record, oldest first. Parameter: id of the record. */
export const usesOf = {
  gitToken: usesWhere(
    'git_token',
    `(service.spec #>> '{git_repository,git_token_id}' = $1::uuid::text
       or service.type = 'HELM' and service.spec #>> '{values_override,file,git,git_repository,git_token_id}' = $1::uuid::text)`,
  ),
  containerRegistry: usesWhere(
    'container_registry',
    `service.type in ('CONTAINER', 'JOB')
       and coalesce(service.spec ->> 'registry_id', service.spec #>> '{source,image,registry_id}') = $1::uuid::text`,
  ),
  helmRepository: usesWhere(
    'helm_repository',
    `service.type = 'HELM' and service.spec #>> '{source,helm_repository,repository}' = $1::uuid::text`,
  ),
  annotationGroup: usesWhere(
    'annotation_group',
    `service.spec ? 'annotations_groups' and service.spec -> 'annotations_groups' ? $1::uuid::text`,
  ),
  labelGroup: usesWhere('label_group', `service.spec ? 'labels_groups' and service.spec -> 'labels_groups' ? $1::uuid::text`),
} as const;
