import Type from 'typebox';
import { about, List, Named, Uuid, Words } from '../shape.ts';

/** Returns the shape of a list of services of these types that use a record of the organization. */
export function AssociatedServices<const T extends string>(name: string, types: readonly T[]) {
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
        service_type: about('The type of the service.', Words(types)),
      }),
    ),
  );
}
