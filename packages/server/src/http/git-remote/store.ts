import { statement } from '@davit/db';

export interface RemoteRow {
  readonly id: string;
  readonly organization_id: string;
  readonly environment_id: string;
  readonly name: string;
  readonly type: string;
  readonly url: string | null;
  readonly branch: string | null;
}

/**
 * Returns the services with these names or ids; several organizations may use the same names. Parameters: project,
 * environment, service.
 */
export const servicesAt = statement<RemoteRow>(
  'git_remote_services',
  `select service.id, service.organization_id, service.environment_id, service.name, service.type,
          service.spec #>> '{git_repository,url}' as url, service.spec #>> '{git_repository,branch}' as branch
     from service
     join environment on environment.id = service.environment_id
     join project on project.id = environment.project_id
    where (project.id::text = $1 or lower(project.name) = lower($1))
      and (environment.id::text = $2 or lower(environment.name) = lower($2))
      and (service.id::text = $3 or lower(service.name) = lower($3))
    order by service.created_at, service.id`,
);
