import Type from 'typebox';
import { List, Uuid, Words, Named } from '../shape.ts';

/** Returns the shape of a list of services of these types that use a record of the organization. */
export function AssociatedServices<const T extends string>(name: string, types: readonly T[]) {
  return List(
    Named(
      name,
      Type.Object({
        project_id: Uuid,
        project_name: Type.String(),
        environment_id: Uuid,
        environment_name: Type.String(),
        service_id: Uuid,
        service_name: Type.String(),
        service_type: Words(types),
      }),
    ),
  );
}
