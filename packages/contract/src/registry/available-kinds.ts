import Type from 'typebox';
import { List, Words } from '../shape.ts';

/** The supported kinds of registries or repositories, with the credentials that each kind needs. */
export function AvailableKinds<const Kinds extends readonly string[]>(kinds: Kinds) {
  return List(
    Type.Object({
      kind: Words(kinds),
      required_config: Type.Record(Type.String(), Type.String()),
      is_mandatory: Type.Boolean(),
    }),
  );
}
