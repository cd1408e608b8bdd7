import Type from 'typebox';
import { about, List, Named, Uuid, Words } from '../shape.ts';

const meanings = {
  APPLICATION: 'An application of an environment.',
  CONTAINER: 'A container of an environment.',
  CRON: 'A job that runs at times.',
  LIFECYCLE: 'A job that runs at events of its environment.',
  HELM: 'A Helm chart of an environment.',
  TERRAFORM: 'A Terraform configuration.',
} as const;

/** Returns the shape of a list of services of these types that use a record of the organization. */
export function AssociatedServices<const T extends keyof typeof meanings>(name: string, types: readonly T[]) {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of the record are the types
  const meaningsOfTypes = Object.fromEntries<string>(types.map((type) => [type, meanings[type]])) as Record<T, string>;
  return List(
    Named(
      name,
      Type.Object({
        project_id: about('The project of the service.', Uuid),
        project_name: about('The name of the project.', Type.String()),
        environment_id: about('The environment of the service.', Uuid),
        environment_name: about('The name of the environment.', Type.String()),
        service_id: about('The service that uses the record.', Uuid),
        service_name: about('The name of the service.', Type.String()),
        service_type: Words(meaningsOfTypes),
      }),
      'A service that uses a record of the organization.',
    ),
  );
}
