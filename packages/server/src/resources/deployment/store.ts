import { statement } from '@davit/db';

export interface PlacedServiceRow {
  readonly id: string;
  readonly type: string;
  readonly name: string;
  readonly icon_uri: string;
  readonly is_skipped: boolean;
  readonly stage_id: string;
  readonly stage_name: string;
  readonly stage_position: number;
}

/** Returns the services of an environment and their positions in its order. */
export const placedServices = statement<PlacedServiceRow>(
  'deployment_placed_services',
  `select service.id, service.type, service.name, coalesce(service.spec->>'icon_uri', '') as icon_uri, service.is_skipped,
          stage.id as stage_id, stage.name as stage_name, stage.position as stage_position
     from service join deployment_stage as stage on stage.id = service.stage_id
    where service.environment_id = $1 order by stage.position, service.created_at, service.id`,
);

export const environmentExists = statement<{ id: string }>(
  'deployment_environment_exists',
  'select id from environment where id = $1',
);

export const serviceOrganization = statement<{ organization_id: string }>(
  'deployment_service_organization',
  'select organization_id from service where id = $1 and ($2::uuid is null or organization_id = $2) and ($3::text is null or type = $3)',
);
