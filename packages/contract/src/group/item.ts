import Type from 'typebox';
import { about, Named, Uuid, Words } from '../shape.ts';
import { groupItemTypes } from '../shared/words.ts';

/** A record that uses a group of annotations or labels, with its location. */
export const GroupItem = Named(
  'GroupItem',
  Type.Object({
    cluster_id: Type.Optional(about('The cluster that the record is on, or is.', Uuid)),
    cluster_name: Type.Optional(about('The name of the cluster.', Type.String())),
    project_id: Type.Optional(about('The project of the record. Absent for a cluster.', Uuid)),
    project_name: Type.Optional(about('The name of the project.', Type.String())),
    environment_id: Type.Optional(about('The environment of the record. Absent for a cluster.', Uuid)),
    environment_name: Type.Optional(about('The name of the environment.', Type.String())),
    item_id: about('The `id` of the record.', Uuid),
    item_name: about('The name of the record.', Type.String()),
    item_type: Words(groupItemTypes),
  }),
  'A record that uses a group, and where it is.',
);
