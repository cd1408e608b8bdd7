import Type from 'typebox';
import { List, Words, Named } from '../shape.ts';

/** The supported kinds of registries or repositories, with the credentials that each kind needs. */
export function AvailableKinds<const K extends string>(name: string, kinds: readonly K[]) {
  return List(
    Named(
      name,
      Type.Object({
        kind: Words(kinds),
        required_config: Type.Record(Type.String(), Type.String()),
        is_mandatory: Type.Boolean(),
      }),
    ),
  );
}
