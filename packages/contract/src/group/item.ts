import Type from 'typebox';
import { Uuid, Words, Named } from '../shape.ts';
import { groupItemTypes } from '../shared/words.ts';

/** A record that uses a group of annotations or labels, with its location. */
export const GroupItem = Named(
  'GroupItem',
  Type.Object({
    cluster_id: Type.Optional(Uuid),
    cluster_name: Type.Optional(Type.String()),
    project_id: Type.Optional(Uuid),
    project_name: Type.Optional(Type.String()),
    environment_id: Type.Optional(Uuid),
    environment_name: Type.Optional(Type.String()),
    item_id: Uuid,
    item_name: Type.String(),
    item_type: Words(groupItemTypes),
  }),
);
