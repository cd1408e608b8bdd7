import Type from 'typebox';
import { about, List, Named, Words } from '../shape.ts';

/** The supported kinds of registries or repositories, with the credentials that each kind needs. */
export function AvailableKinds<const K extends string>(name: string, kinds: readonly K[]) {
  return List(
    Named(
      name,
      Type.Object({
        kind: Words(kinds),
        required_config: about(
          'The members of `config` that it needs, with the type of each.',
          Type.Record(Type.String(), Type.String()),
        ),
        is_mandatory: about('Always false: no cluster needs one.', Type.Boolean()),
      }),
      'A kind that can be created, and what it needs.',
    ),
  );
}
